"""Odd options of each command of the command line, which runs in this process."""

import json
import random
import tempfile
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import onnx
from typer.testing import CliRunner

import milp_verix as mv
from milp_verix.cli.app import COMMANDS, app, command_named
from tests.fuzz.arguments import NAMES, models
from tests.fuzz.trials import LIMIT, Try

_LONGEST = 400
_ODD = ["", "x", "-1", "0", "1", "2", "3", "1e999", "nan", "inf", "-inf", "10%", "0.5sd", "8/255"]
_ODD += ["1/0", "age", "age,debt", "0,1", "0,0", "9", "auto", "pixels", "\x1b[31m", "é", "1e400"]
_ODD += ["99999999999999999999", "none.npy", "none.json", ".", "/", "[]", "{}", "a=b", "1,3", "0:1"]
_ODD += ["x.npy", "x.npy:0", "rows.npy", "rows.npy:1", "inputs.json", "result.json", "broken.json"]
_ODD += ["model.onnx", "names.json", "text.txt", "rows.csv", "rows.csv:0", "costs.npy", "highs"]
_ODD += ["crown", "big_m", "margin", "l1", "l2", "checks.json", "study.jsonl", "row.json", "5MB"]
_ELSEWHERE = ("--workers", "--scheduler", "--install-completion", "--show-completion")
"""Options that start processes, or look for other machines."""

_BALL = ["--epsilon", "2", "--domain", "0", "8"]
_ASKED = dict.fromkeys(("explain", "minimum", "contrastive", "inflate", "enumerate"), _BALL)
_ASKED |= {
    "importance": _BALL,
    "relevance": [*_BALL, "--feature", "1"],
    "audit": [*_BALL, "--explanation", "0,1"],
    "radius": _BALL[2:],
    "sweep": ["--epsilons", "1,2", *_BALL[2:]],
    "compare": [*_BALL, "--solvers", "highs"],
}
_WHOLE = {
    "batch": ["model.onnx", "rows.npy", *_BALL, "--journal", "new.jsonl"],
    "columns": ["study.jsonl"],
    "report": ["result.json", "--output", "page.html"],
    "certify": ["model.onnx", "result.json", "--output", "proof.json"],
    "export": ["model.onnx", "x.npy", *_BALL, "--out", "check.lp"],
    "solvers": ["highs"],
}
"""Arguments of each command that are right: behind a model and an input, or all of them."""


def _files(folder: Path) -> None:
    """Write files of each kind that an option reads."""
    (forest, _, dense), frame = models()
    onnx.save(dense, folder / "model.onnx")
    joblib.dump(forest, folder / "forest.joblib")
    rows = frame.to_numpy()[:3].astype(np.float32)
    np.save(folder / "rows.npy", rows)
    np.save(folder / "x.npy", rows[:1])
    np.save(folder / "costs.npy", np.ones(3))
    frame.iloc[:3].to_csv(folder / "rows.csv", index=False)
    described = mv.Inputs([mv.integer(name, 0, 8) for name in NAMES]).to_data()
    written = {"names": [*NAMES], "row": frame.iloc[0].to_dict(), "inputs": described}
    for name, content in written.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    (folder / "broken.json").write_text('{"epsilon": [1, ')
    (folder / "text.txt").write_text("some words")
    asked: dict[str, Any] = {"epsilon": 2, "domain": (0, 8)}
    mv.explain(folder / "model.onnx", rows[:1], **asked).to_json(folder / "result.json")
    mv.explain_many(folder / "model.onnx", rows, journal=folder / "study.jsonl", **asked)


def _run(arguments: list[str]) -> None:
    """Run a command; ``AssertionError`` unless it ends in words, with a code that it may have."""
    try:
        done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    except (MemoryError, OSError, ImportError):
        return  # main() says these in one line
    assert 0 <= done.exit_code <= 5, f"{arguments} ends with {done.exit_code}"
    longest = max(map(len, done.stderr.splitlines()), default=0)
    assert longest <= _LONGEST, f"{arguments} says {longest} characters: {done.stderr[:200]!r}"


def trials(folder: Path) -> Try:
    """Return what makes a try of odd options of a command from a seed."""
    _files(folder)
    options = {
        name: [one.opts[0] for one in command_named(name).params if one.opts[0].startswith("--")]
        for name in COMMANDS
    }
    limited = {name for name, known in options.items() if "--time-limit" in known}
    right = {name: [["model.onnx", "x.npy"], asked] for name, asked in _ASKED.items()}
    right |= {name: [asked, []] for name, asked in _WHOLE.items()}
    for name, (files, asked) in right.items():  # modules are loaded before the children are made
        _here(folder, [name, *files, *asked, *(["--time-limit", "1"] if name in limited else [])])

    def made(seed: int) -> Callable[[], object]:
        draw = random.Random(seed)
        name = draw.choice(sorted(right))
        files, asked = ([*part] for part in right[name])
        if files[0] == "model.onnx" and draw.random() < 0.3:
            files[0] = "forest.joblib"
        arguments = [*files, *asked]
        for _ in range(draw.choice((1, 1, 2))):
            if arguments and draw.random() < 0.3:
                arguments[draw.randrange(len(arguments))] = draw.choice(_ODD)
                continue
            option = draw.choice([one for one in options[name] if one not in _ELSEWHERE])
            arguments += [option] if draw.random() < 0.1 else [option, draw.choice(_ODD)]
        if name in limited and "--time-limit" not in arguments:
            arguments += ["--time-limit", str(LIMIT)]
        return lambda: _here(folder, [name, *arguments])

    return made


def _here(folder: Path, arguments: list[str]) -> None:
    """Run a command in a new folder with links to the files."""
    with tempfile.TemporaryDirectory() as own, chdir(own):
        for file in folder.iterdir():
            if file.is_file():
                Path(own, file.name).symlink_to(file)
        _run(arguments)
