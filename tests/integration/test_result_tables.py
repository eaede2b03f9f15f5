"""Tables of measurements are what a script printed, and say how they were measured."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.repository import ROOT

RESULTS = ROOT / "benchmarks" / "RESULTS.md"
MEASURED = sorted((ROOT / "benchmarks" / "measured").glob("*.md"))
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
    document = copied / "benchmarks" / "measured" / "contrastive.md"
    before = document.read_text(encoding="utf-8")
    done = contrasts(copied, "contrastive-mnist-10x2")
    assert (done.returncode, done.stderr) == (0, "")
    after = document.read_text(encoding="utf-8")
    ((_, text),) = PLACE.findall(after)
    assert PLACE.sub("", after) == PLACE.sub("", before)
    assert git(copied, "status", "--porcelain") == "M benchmarks/measured/contrastive.md"
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
    document = copied / "benchmarks" / "measured" / "contrastive.md"
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


def test_rows_for_each_image_go_to_a_place_of_their_own_if_there_is_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import tables

    results, measured = tmp_path / "RESULTS.md", tmp_path / "measured"
    measured.mkdir()
    results.write_text("".join(f"<!-- begin {n} -->\n<!-- end {n} -->\n" for n in "ab"))
    (measured / "a.md").write_text("<!-- begin a-each -->\n<!-- end a-each -->\n")
    monkeypatch.setattr(tables, "RESULTS", results)
    monkeypatch.setattr(tables, "MEASURED", measured)
    assert tables.tables_to_write() == ["a", "b"]
    for name in "ab":
        tables.write(name, [f"sum of {name}"], each=[f"images of {name}"])
    found = dict(PLACE.findall(results.read_text() + (measured / "a.md").read_text()))
    assert found["a"].endswith("```\n\nsum of a\n")
    assert found["a-each"].endswith("```\n\nimages of a\n")
    assert found["b"].endswith("```\n\nsum of b\n\nimages of b\n")
    with pytest.raises(ValueError, match="no document has a place 'c'; they have a, b, a-each"):
        tables.write("c", [])


def test_every_table_has_the_command_that_writes_it() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (RESULTS, *MEASURED)]
    found = [place for text in texts for place in PLACE.findall(text)]
    assert len({name for name, _ in found}) == len(found) > 50
    for name, text in found:
        written = name.removesuffix("-each")
        assert re.match(r"Commit `\w{7,}`", text), name
        (script,) = re.findall(
            r"^python (?:benchmarks/|-m benchmarks\.)(\w+(?:\.\w+)?) .*", text, flags=re.MULTILINE
        )
        module = script if "." in script else f"{script}.__main__"
        path = script if script.endswith(".py") else f"{module.replace('.', '/')}.py"
        assert (ROOT / "benchmarks" / path).is_file(), name
        assert re.search(rf"^python .* --write {re.escape(written)}$", text, re.MULTILINE), name
        assert re.search(r"^\|(---:?\|)+$", text, flags=re.MULTILINE), name


@pytest.mark.parametrize("document", [RESULTS, *MEASURED], ids=lambda path: path.stem)
def test_sections_hold_a_sentence_at_most_and_tables(document: Path) -> None:
    text = PLACE.sub("", document.read_text(encoding="utf-8"))
    _, first, *sections = re.split(r"^#+ .*\n", text, flags=re.MULTILINE)
    # what stands below the title of RESULTS.md holds for all of its tables
    for section in sections if document == RESULTS else (first, *sections):
        lines = [line for line in section.splitlines() if line and not line.startswith(("![", "|"))]
        assert len(lines) <= 1, lines
        assert all(len(re.findall(r"[.!?](?= |$)", line)) <= 1 for line in lines), lines


def test_the_results_are_short_and_lead_to_all_other_tables() -> None:
    text = RESULTS.read_text(encoding="utf-8")
    assert len(text.encode()) <= 22_000
    files = [path.name for path in MEASURED]
    assert sorted(re.findall(r"\]\(measured/(\w+\.md)\)", text)) == files
    page = (ROOT / "docs" / "measured.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"{include} \.\./benchmarks/measured/(\w+\.md)", page)) == files
