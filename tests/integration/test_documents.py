"""Code in the documents runs as it stands, and their numbers are those that were measured."""

import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from PIL import Image

import milp_verix
from tests.support.repository import MADE, PYTHON_PATH, ROOT

DOCUMENTS = sorted(
    str(path.relative_to(ROOT))
    for path in (ROOT / "README.md", *ROOT.glob("docs/**/*.md"))
    if not MADE & set(path.parts)
)
MARK = "<!-- shown, not run -->"
SHOWN = {
    "python3 -m venv .venv && .venv/bin/pip install . && ": "it installs; CI runs it from nothing",
    "from dask_jobqueue import SLURMCluster": "it needs Slurm; test_slurm.py runs its script",
    "python3 -m venv .venv && .venv/bin/pip install -e": "it runs these tests; CI runs it, too",
    "pip install .  ": "it installs; CI runs it from nothing",
    "@software{milp_verix": "a reference; test_distribution.py compares it with CITATION.cff",
    "$ make paper": "minutes; tests/integration/test_paper.py runs it on fewer images",
    "$ pip install '.[train": "it needs data sets that do not ship, and PyTorch",
    "text      = statement": "a grammar; the judge of test_statements.py reads by it",
    "columns   = ": "the grammar of rows and pictures; test_statements.py reads by it, too",
    "from dataclasses import dataclass\nfrom typing import ClassVar\n": "test_new_kind.py runs it",
    '@operator("HardSigmoid")': "test_new_kind.py runs it; it would stay registered",
    "$ milp-verix instances library": "minutes; test_instances.py makes the small ones",
    "image, mask = lime_explanation": "LIME is in the extra rivals alone; the next block is alike",
}
"""How blocks begin that are not run here, and why. The documents mark them."""

_BLOCK = re.compile(
    rf"^(?P<mark>{MARK}\n)?```(?P<language>[\w{{]*)[^\n]*\n(?P<text>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)


class Block(NamedTuple):
    """A block of code in a document, and the line that it begins in."""

    language: str
    text: str
    line: int
    marked: bool


def blocks(document: str) -> list[Block]:
    text = (ROOT / document).read_text(encoding="utf-8")
    return [
        Block(
            found["language"],
            found["text"],
            text[: found.start("text")].count("\n") + 1,
            found["mark"] is not None,
        )
        for found in _BLOCK.finditer(text)
        if not found["language"].startswith("{")  # a directive of the site
    ]


def test_blocks_are_found() -> None:
    languages = [block.language for block in blocks("README.md")]
    fences = (ROOT / "README.md").read_text(encoding="utf-8").count("\n```")
    assert len(languages) == fences / 2
    assert {"python", "console"} <= set(languages)


def test_blocks_that_are_not_run_are_listed_with_the_reason() -> None:
    every = [block for document in DOCUMENTS for block in blocks(document)]
    marked = [block.text for block in every if block.marked]
    assert all(any(text.startswith(begin) for begin in SHOWN) for text in marked)
    assert all(any(text.startswith(begin) for text in marked) for begin in SHOWN)
    unmarked = {block.language for block in every if not block.marked}
    assert unmarked <= {"python", "console", "toml", "text"}


def test_study_files_in_documents_are_those_of_the_examples() -> None:
    files = {path.read_text(encoding="utf-8") for path in (ROOT / "examples").glob("*.toml")}
    every = [block for document in DOCUMENTS for block in blocks(document)]
    studies = [block for block in every if block.language == "toml" and "[[study]]" in block.text]
    assert {block.text for block in studies} == files


@pytest.mark.slow
@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_code_of_a_document_runs(
    document: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {}
    printed = ""
    for block in blocks(document):
        where = f"{document}, line {block.line}"
        if block.marked or block.language == "toml":  # an example, which a command runs
            continue
        if block.language == "text":  # what the code above it prints
            assert printed == block.text, where
            continue
        if block.language == "console":
            run(block.text, where)
            continue
        if "pyomo" in block.text:
            pytest.importorskip("pyomo", reason="an optional solver")
        if "lightgbm" in block.text:
            pytest.importorskip("lightgbm", reason="LightGBM is not installed")
        if "sklearn" in block.text:
            pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
        exec(compile("\n" * block.line + block.text, document, "exec"), namespace)
        printed = capsys.readouterr().out


def run(text: str, where: str) -> None:
    """Run the commands behind ``$`` in a block; each must succeed."""
    commands = re.findall(r"^\$ (.*)$", text.replace("\\\n", " "), flags=re.MULTILINE)
    assert commands, where
    for command in commands:
        name, *arguments = shlex.split(command)
        assert name == "milp-verix", where
        done = subprocess.run(
            [sys.executable, "-m", "milp_verix", *arguments],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": PYTHON_PATH},
        )
        assert (done.returncode, done.stderr) == (0, ""), f"{where}: {command}"


def found_in(document: str, pattern: str) -> tuple[str, ...]:
    """Return the groups of the only place where ``pattern`` is, in the files of a glob pattern."""
    text = "".join(path.read_text(encoding="utf-8") for path in ROOT.glob(document))
    (found,) = re.finditer(pattern, text)
    return found.groups()


@pytest.mark.parametrize(
    ("document", "told", "measured"),
    [
        (
            "docs/smallest.md",
            r", (\d+) are proven within a minute",
            r"\| mnist-10x2 \| 0.05 \| auto \| – \| 100 (?:\| [\d.]+ ){3}\| (\d+) \|",
        ),
        (
            "docs/smallest.md",
            r"traffic signs with 1024 .* the slowest in ([\d.]+) s",
            r"\| gtsrb-10x2 \| 0.01 \| auto \| – \| 20 (?:\| [\d.]+ ){3}"
            r"\| 20 \| [\d.]+ \| ([\d.]+) \|",
        ),
        (
            "docs/smallest.md",
            r"the default has ([\d.]+) features on average",
            r"\| gtsrb-10x2 \| ours, as it is \| 62 \| [\d.]+ \| ([\d.]+) \|",
        ),
        (
            "docs/arguments.md",
            r"`influence` (\d+) and `adaptive` \d+, which",
            r"\| 10 \| default \| (\d+) \|",
        ),
        (
            "docs/arguments.md",
            r"`influence` \d+ and `adaptive` (\d+), which",
            r"\| 10 \| adaptive \| (\d+) \|",
        ),
        (
            "docs/arguments.md",
            r"VeriX's order gives (\d+) features",
            r"\| 10 \| sensitivity \| (\d+) \|",
        ),
        (
            "docs/arguments.md",
            r"`adaptive` (\d+), which `minimum` proves",
            r"\| 9: \d+ \| 10: (\d+) \|",
        ),
        (
            "docs/arguments.md",
            r"`influence` takes ([\d.]+) s",
            r"\| 10 \| default (?:\| \d+ ){4}\| ([\d.]+) \|",
        ),
        (
            "docs/arguments.md",
            r"and (\d+) programs decide",
            r"\| 10 \| default (?:\| \d+ ){3}\| (\d+) \|",
        ),
    ],
)
def test_the_documents_tell_what_was_measured(document: str, told: str, measured: str) -> None:
    assert found_in(document, told) == found_in("benchmarks/**/*.md", measured)


def test_the_page_counts_the_contrasts_that_are_proven() -> None:
    table = (ROOT / "benchmarks" / "measured" / "contrastive.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \d .*\| (yes|no) \| ([\d.]+) \|$", table, flags=re.MULTILINE)
    proven = [float(seconds) for answer, seconds in rows if answer == "yes"]
    assert len(rows) == 10
    assert found_in("docs/smallest.md", r"(\d+) of the first ten test images are settled") == (
        str(len(proven)),
    )
    assert max(proven) < 5 < 2 * max(proven)  # "each in less than five seconds"


def test_the_readme_is_short_and_says_how_long_the_tests_take() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 100
    assert re.search(r"tests take about \w+ minutes on two cores", text)


@pytest.mark.slow
def test_the_readme_tells_the_loan_in_the_words_of_the_tool() -> None:
    asked = {
        "x": json.loads((ROOT / "examples" / "applicant.json").read_text(encoding="utf-8")),
        "inputs": milp_verix.Inputs.from_file(ROOT / "examples" / "loan.json"),
        "epsilon": math.inf,
    }
    network = milp_verix.load_network(ROOT / "examples" / "loan.onnx")
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    told = re.findall(r"^> (.+)$", text, flags=re.MULTILINE)
    assert told == [
        milp_verix.minimum(network, **asked).sentence(),
        milp_verix.contrastive(network, **asked).sentence(),
    ]


@pytest.mark.slow
def test_the_picture_of_the_readme_is_that_of_the_explanation(tmp_path: Path) -> None:
    specification = spec_from_file_location("first_picture", ROOT / "docs" / "first_picture.py")
    assert specification is not None
    assert specification.loader is not None
    script = module_from_spec(specification)
    specification.loader.exec_module(script)
    found = script.draw(tmp_path / "digit.png")
    stored, drawn = (
        np.asarray(Image.open(path).convert("RGB"), dtype=float)
        for path in (script.PICTURE, tmp_path / "digit.png")
    )
    assert stored.shape == drawn.shape
    assert np.mean(np.abs(stored - drawn)) < 2  # another version of Matplotlib sets type otherwise
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"![A digit of 8 × 8 pixels that the network sees as a {found.prediction};" in text
    assert f"sees a {found.counterfactuals[script.SHOWN].prediction}](docs/_static/" in text
    assert found.size == 6
    assert f"other {len(found.irrelevant)} do within ±{found.epsilon}" in text
    assert script.PICTURE.stat().st_size < 20_000
