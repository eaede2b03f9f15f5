"""Tables in RESULTS.md are what a script printed, and say how they were measured."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.repository import ROOT

RESULTS = ROOT / "benchmarks" / "RESULTS.md"
PLACE = re.compile(r"<!-- begin (\S+) -->\n(.*?)<!-- end \1 -->", re.DOTALL)


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=test", "-c", "user.email=test@localhost")
    done = subprocess.run(
        ["git", "-C", str(folder), *who, *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """Return a repository of its own with the scripts and the example."""
    for folder in ("benchmarks", "examples"):
        shutil.copytree(
            ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__")
        )
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "Copy")
    return tmp_path


def run(root: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    script, *others = map(str, arguments)
    return subprocess.run(
        [sys.executable, "-B", str(root / "benchmarks" / script), *others],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'encodings'}"},
    )


def contrasts(root: Path, place: str) -> subprocess.CompletedProcess[str]:
    digits = root / "examples" / "digits"
    options = ("--indices", "15,8", "--epsilon", 0.1, "--write", place)
    return run(root, "contrastive.py", f"{digits}.onnx", f"{digits}.npz:images", *options)


@pytest.mark.slow
def test_a_script_writes_its_table_and_how_it_was_measured(copied: Path) -> None:
    document = copied / "benchmarks" / "RESULTS.md"
    before = document.read_text(encoding="utf-8")
    done = contrasts(copied, "contrastive-mnist-10x2")
    assert (done.returncode, done.stderr) == (0, "")
    after = document.read_text(encoding="utf-8")
    old, new = dict(PLACE.findall(before)), dict(PLACE.findall(after))
    text = new.pop("contrastive-mnist-10x2")
    assert new == {name: old[name] for name in old if name != "contrastive-mnist-10x2"}
    assert PLACE.sub("", after) == PLACE.sub("", before)
    commit = git(copied, "rev-parse", "--short", "HEAD")
    assert re.match(
        rf"Commit `{commit}`, \d{{4}}-\d\d-\d\d; .+, \d+ cores; Python .+, \w+ .+\.\n", text
    )
    assert (
        "\npython benchmarks/contrastive.py examples/digits.onnx examples/digits.npz:images "
        "--indices 15,8 --epsilon 0.1 --write contrastive-mnist-10x2\n"
    ) in text
    assert str(copied) not in after
    assert text.rstrip().endswith(done.stdout.partition("\n\nproven")[0])


@pytest.mark.slow
def test_changed_code_is_told_of_and_a_table_is_replaced_whole(copied: Path) -> None:
    document = copied / "benchmarks" / "RESULTS.md"
    contrasts(copied, "contrastive-mnist-10x2")
    first = document.read_text(encoding="utf-8")
    (copied / "benchmarks" / "new.py").write_text("")
    contrasts(copied, "contrastive-mnist-10x2")
    second = document.read_text(encoding="utf-8")
    assert "` with changes, " in second
    varying = re.compile(r"\d+\.\d+ \|$| with changes", re.MULTILINE)
    assert varying.sub("", second) == varying.sub("", first)


@pytest.mark.slow
def test_a_place_that_is_not_there_is_refused_before_anything_runs(copied: Path) -> None:
    done = contrasts(copied, "nowhere")
    assert (done.returncode, done.stdout) == (2, "")
    assert "contrastive-mnist-10x2" in done.stderr


def test_files_outside_of_the_repository_are_named_without_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import tables

    (tmp_path / "a.npz").touch()
    told = tables.command(
        [
            str(ROOT / "benchmarks" / "growth.py"),
            f"m={tmp_path}/a.onnx,{tmp_path}/a.npz:images[3],8/255",
            *("--plot", str(ROOT / "benchmarks" / "growth.png"), "--out", f"{tmp_path}/runs.jsonl"),
        ]
    )
    assert told == (
        "python benchmarks/growth.py 'm=a.onnx,a.npz:images[3],8/255' "
        "--plot benchmarks/growth.png --out runs.jsonl"
    )


def test_a_script_of_a_package_is_run_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import tables

    script = ROOT / "benchmarks" / "paper" / "table_rivals.py"
    told = tables.command([str(script), "--images", "3"])
    assert told == "python -m benchmarks.paper.table_rivals --images 3"


def test_every_table_has_the_command_that_writes_it() -> None:
    found = PLACE.findall(RESULTS.read_text(encoding="utf-8"))
    assert len({name for name, _ in found}) == len(found) > 15
    for name, text in found:
        assert re.match(r"Commit `\w{7,}`", text), name
        (script,) = re.findall(
            r"^python (?:benchmarks/|-m benchmarks\.)(\w+(?:\.\w+)?) .*", text, flags=re.MULTILINE
        )
        module = script if "." in script else f"{script}.__main__"
        path = script if script.endswith(".py") else f"{module.replace('.', '/')}.py"
        assert (ROOT / "benchmarks" / path).is_file(), name
        assert re.search(rf"^python .* --write {re.escape(name)}$", text, flags=re.MULTILINE), name
        assert re.search(r"^\|(---:?\|)+$", text, flags=re.MULTILINE), name


def test_sections_hold_a_sentence_at_most_and_tables() -> None:
    text = PLACE.sub("", RESULTS.read_text(encoding="utf-8"))
    _, _, *sections = re.split(r"^#+ .*\n", text, flags=re.MULTILINE)
    for section in sections:
        lines = [line for line in section.splitlines() if line and not line.startswith("![")]
        assert len(lines) <= 1, lines
        assert all(len(re.findall(r"[.!?](?= |$)", line)) <= 1 for line in lines), lines
