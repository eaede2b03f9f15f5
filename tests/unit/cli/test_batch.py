import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from rich.console import Console

import milp_verix
from milp_verix import Tally
from milp_verix.cli import progress
from milp_verix.cli.progress import summary, tasks_progress
from tests.support.command_line import run_here
from tests.support.digits_example import IMAGES, MODEL, images, network
from tests.support.studies import comparable, lines

DIGITS = f"{IMAGES}:images"


def test_a_grid_of_radii_orders_and_tasks(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    options = ("--epsilon", "0.01,8/255", "--journal", path, "--indices", "14:16")
    grid = ("--task", "explain,contrastive", "--order", "influence,bound")
    done = run_here("batch", MODEL, DIGITS, *options, *grid)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("12 of 12 tasks, ")
    assert f"12 done, 0 undecided, 0 failed; the journal is {path}" in done.stdout.replace("\n", "")
    found = {(r["index"], r["epsilon"], r["task"], r["settings"].get("order")) for r in lines(path)}
    assert found == {
        (index, epsilon, *kind)
        for index in (14, 15)
        for epsilon in (0.01, 8 / 255)
        for kind in (("explain", "influence"), ("explain", "bound"), ("contrastive", None))
    }


def test_options_of_the_single_commands_hold(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    order = np.arange(64)[::-1]
    np.save(tmp_path / "order.npy", order)
    arguments: dict[str, Any] = {
        "norm": "l1",
        "solver": "phase",
        "traversal": "sequential",
        "exactness": "bounds",
        "bounds": "interval",
        "features": "pixels",
        "threads": 2,
    }
    given = [part for name, value in arguments.items() for part in (f"--{name}", value)]
    places = ("--epsilon", "0.5", "--journal", path, "--indices", 15)
    others = ("--order", tmp_path / "order.npy", "--domain", "0", "inf", "--image-shape", "8,8")
    done = run_here("batch", MODEL, DIGITS, *places, *given, *others)
    assert done.returncode == 3, done.stderr
    (record,) = lines(path)
    assert record["settings"]["domain"] == [0.0, "inf"]
    assert record["settings"]["norm"] == "l1"
    arguments |= {"order": order, "domain": (0.0, np.inf)}
    expected = milp_verix.explain(network(), images()[15], epsilon=0.5, **arguments)
    assert record["explanation"] == list(expected.explanation)
    assert record["unknown"] == list(expected.unknown) != []


def test_a_folder_of_pictures_with_a_damaged_one(tmp_path: Path) -> None:
    folder, path = tmp_path / "pictures", tmp_path / "study.jsonl"
    folder.mkdir()
    grey = np.round(images()[:2].reshape(-1, 8, 8) * 255).astype(np.uint8)
    for name, pixels in zip(("a.png", "c.PNG"), grey, strict=True):
        Image.fromarray(pixels).save(folder / name, format="PNG")
    (folder / "b.png").write_bytes(b"no picture")
    (folder / "notes.txt").write_text("not an input")
    done = run_here("batch", MODEL, folder, "--epsilon", "0.1", "--journal", path)
    assert done.returncode == 3
    assert "note: the input's bytes were scaled from 0..255 to [0, 1]" in done.stderr
    found = lines(path)
    assert [(one["index"], one["name"], one["status"]) for one in found] == [
        (0, "a.png", "done"),
        (1, "b.png", "failed"),
        (2, "c.PNG", "done"),
    ]
    assert "damaged" in found[1]["reason"]
    np.save(tmp_path / "bytes.npy", grey.reshape(2, 1, 8, 8))
    other = tmp_path / "other.jsonl"
    run_here("batch", MODEL, tmp_path / "bytes.npy", "--epsilon", "0.1", "--journal", other)
    expected = [one["explanation"] for one in lines(other)]
    assert [found[0]["explanation"], found[2]["explanation"]] == expected
    assert any(expected)
    assert "the input was decoded from a.png" in found[0]["notes"]
    scaled = "the input's bytes were scaled from 0..255 to [0, 1]"
    assert all(scaled in one["notes"] for one in (found[0], found[2], *lines(other)))
    assert found[1]["notes"] == []
    result = milp_verix.read_result(path, found[0])
    assert result is not None
    assert list(result.notes) == found[0]["notes"]


def test_a_study_goes_on_and_asks_again(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    command = ("batch", MODEL, DIGITS, "--epsilon", "0.1", "--journal", path, "--indices", "0,15")
    first = run_here(*command, "--time-limit", "1e-9")
    assert first.returncode == 3
    again = run_here(*command)
    assert again.returncode == 3
    assert "2 known before" in again.stdout
    retried = run_here(*command, "--retry", "undecided")
    assert retried.returncode == 0
    assert [one["status"] for one in lines(path)] == ["undecided"] * 2 + ["done"] * 2
    whole = tmp_path / "whole.jsonl"
    run_here(*command[:6], whole, *command[7:])
    assert comparable(lines(whole)) == comparable(lines(path)[2:])


def test_a_torn_journal_is_told(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    path.write_text('{"key"')
    done = run_here("batch", MODEL, DIGITS, "--epsilon", "0.01", "--journal", path, "--indices", 0)
    assert done.returncode == 0
    assert "line 1 is torn" in done.stderr
    assert len(lines(path)) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--epsilon", "0.1,x"), "--epsilon: 'x' is no number"),
        (("--epsilon", ""), "--epsilon"),
        (("--epsilon", "0.1", "--task", "explian"), "unknown task"),
        (("--epsilon", "0.1", "--task", ""), "needs a task"),
        (("--epsilon", "0.1", "--order", "bund"), "--order is"),
        (("--epsilon", "0.1", "--gap", "0.1"), "can take no 'gap'"),
        (("--epsilon", "0.1", "--retry", "done"), "unknown retry"),
        (("--epsilon", "0.1", "--indices", "99"), "indices are such as"),
        (("--epsilon", "0.1", "--columns", "a"), "columns belong to a table"),
        (("--epsilon", "0.1", "--results", "none/none"), "cannot make the folder"),
        (("--epsilon", "0.1", "--results", "a", "--no-results"), "exclude each other"),
        (("--epsilon", "0.1", "--solver", "hihgs"), "unknown solver"),
    ],
)
def test_bad_arguments_are_one_line_and_write_nothing(
    tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    path = tmp_path / "study.jsonl"
    done = run_here("batch", MODEL, DIGITS, "--journal", path, *options)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert not path.exists()


@pytest.mark.parametrize("inputs", [IMAGES, "none.npy", "picture.png", "."])
def test_inputs_that_cannot_be_read_are_refused(tmp_path: Path, inputs: Path | str) -> None:
    given = tmp_path / inputs
    done = run_here("batch", MODEL, given, "--epsilon", "0.1", "--journal", tmp_path / "s.jsonl")
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")


def console(*, terminal: bool) -> Console:
    return Console(file=io.StringIO(), force_terminal=terminal, width=200)


def shown(where: Console) -> str:
    assert isinstance(where.file, io.StringIO)
    return where.file.getvalue()


def test_a_log_gets_a_line_every_few_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    where = console(terminal=False)
    with tasks_progress(where, quiet=False) as show:
        for i in range(41):
            now[0] = i / 2
            show(Tally(100, known=20, done=20 + i, failed=2, seconds=i / 2))
    assert shown(where).splitlines() == [
        "42 of 100 tasks, 2.2 a second, 26 s left, 2 failed",
        "62 of 100 tasks, 2.1 a second, 18 s left, 2 failed",
    ]
    quiet = console(terminal=False)
    with tasks_progress(quiet, quiet=True) as show:
        now[0] = 99.0
        show(Tally(100))
    assert shown(quiet) == ""


def test_a_terminal_gets_a_bar() -> None:
    where = console(terminal=True)
    with tasks_progress(where, quiet=False) as show:
        show(Tally(1000, done=30, undecided=2, failed=1, seconds=330.0))
    assert "33/1000" in shown(where)
    assert "10 s each, 2.7 h left, 2 undecided, 1 failed" in shown(where)


def test_the_summary_says_how_it_ended() -> None:
    tally = Tally(9, known=2, done=5, failed=1, seconds=300.0, stopped="interrupted")
    said = "interrupted: 6 of 9 tasks, 2 known before, 5 min: 5 done, 0 undecided, 1 failed"
    assert summary(tally) == said
