"""Whatever kills a run, the result so far is on disk, sound and some seconds old at most."""

import errno
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from milp_verix import (
    ContrastiveExplanation,
    Enumeration,
    Explanation,
    compare,
    contrastive,
    enumerate_explanations,
    explain,
    minimum,
)
from milp_verix.base.files import write_atomically
from milp_verix.cli.progress import autosaving
from tests.support.clocks import wait_until
from tests.support.command_line import slowed
from tests.support.counterfactual_checks import assert_sound
from tests.support.digits_example import IMAGES, MODEL, images, network
from tests.support.exhaustive_explanations import wide_case, wide_truth


class Result:
    """Stands for a result: it holds one number."""

    def __init__(self, number: int) -> None:
        self.number = number

    def to_json(self, path: Path) -> None:
        write_atomically(path, json.dumps(self.number))


def test_the_newest_result_is_saved_soon_though_nothing_follows_it(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    with autosaving(out, Console(stderr=True), lambda r: Result(r.number + 1)) as save:
        assert save is not None
        for number in range(100):
            save(lambda number=number: Result(number))
        wait_until(lambda: out.exists() and out.read_text() == "100", seconds=20)
        save(lambda: Result(200))
    # what the run itself writes now is the last word
    assert out.read_text() == "100"
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]


def test_nothing_is_saved_to_a_pipe_or_to_nowhere() -> None:
    for path in (None, Path("/dev/null")):
        with autosaving(path, Console(stderr=True)) as save:
            assert save is None


def test_a_full_disk_is_told_once_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, tries = tmp_path / "out.json", 0
    out.write_text("0")
    monkeypatch.setattr("milp_verix.base.files.SECONDS_BETWEEN", 0.05)
    write = Path.write_bytes

    def full(self: Path, data: bytes) -> int:
        nonlocal tries
        tries += 1
        if tries > 2:
            return write(self, data)
        write(self, data[:1])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with autosaving(out, Console(stderr=True, soft_wrap=True)) as save:
        assert save is not None
        for number in (11, 22):
            save(lambda number=number: Result(number))
            wait_until(lambda wanted=number // 11: tries >= wanted)
            assert out.read_text() == "0"
        save(lambda: Result(33))
        wait_until(lambda: out.read_text() == "33")
    told = capsys.readouterr().err
    assert told.count("No space left on device") == 1
    assert told.startswith(f"warning: cannot write {out}")
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]


@pytest.mark.parametrize("index", [15, 17])
@pytest.mark.parametrize("find", [explain, minimum])
def test_each_snapshot_is_a_sound_explanation(find: Callable[..., Any], index: int) -> None:
    kept: list[Callable[[], Explanation]] = []
    x = images()[index]
    found = find(network(), x, epsilon=0.1, snapshots=kept.append)
    assert len(kept) > 5
    results = [snapshot() for snapshot in kept]
    assert len(results[0].unknown) == 64
    sizes = [result.size for result in results]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == found.size
    for result in (results[0], results[len(results) // 2], results[-1]):
        assert_sound(result, network(), x)
        assert result.replay(network()) == ()
        if find is minimum:
            assert result.lower_bound is not None
            assert result.lower_bound <= found.size
    if find is minimum:
        bounds = [result.lower_bound or 0 for result in results]
        assert bounds == sorted(bounds)
        # the counterfactuals of the first search are kept where they still fit
        assert any(result.counterfactuals for result in results)


@pytest.mark.slow
def test_snapshots_of_a_minimum_respect_what_is_asked_for() -> None:
    kept: list[Callable[[], Explanation]] = []
    asked: dict[str, Any] = {"must": [0, 1], "must_not": [2, 3]}
    minimum(network(), images()[15], epsilon=0.1, snapshots=kept.append, **asked)
    for snapshot in kept:
        assert {0, 1} <= set(snapshot().explanation)
        assert not {2, 3} & set(snapshot().explanation)


def test_each_snapshot_of_a_contrast_is_what_is_known() -> None:
    kept: list[Callable[[], ContrastiveExplanation]] = []
    found = contrastive(network(), images()[4], epsilon=0.2, snapshots=kept.append)
    results = [snapshot() for snapshot in kept]
    assert results[0].contrast is None
    assert results[0].lower_bound == 1
    sizes = [result.size for result in results if result.size is not None]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == found.size
    for result in results:
        assert result.lower_bound is not None
        assert found.size is not None
        assert result.lower_bound <= found.size
        assert result.contrast is None or result.replay(network())
        assert ContrastiveExplanation.from_json(result.to_json()).contrast == result.contrast


def test_each_snapshot_of_an_enumeration_holds_what_was_found(tmp_path: Path) -> None:
    kept: list[Callable[[], Enumeration]] = []
    problem, (explanations, contrasts) = wide_case(0), wide_truth(0)
    net = problem.network(tmp_path)
    found = enumerate_explanations(net, problem.x, snapshots=kept.append, **problem.options)
    assert found.complete
    results = [snapshot() for snapshot in kept]
    counts = [len(result.abductive) + len(result.contrastive) for result in results]
    assert counts == list(range(len(explanations) + len(contrasts) + 1))
    for result in results:
        assert {frozenset(one) for one in result.abductive} <= explanations
        assert {frozenset(one) for one in result.contrastive} <= contrasts
        assert result.replay(net) == ()
        assert Enumeration.from_json(result.to_json()).abductive == result.abductive


@pytest.mark.slow
def test_each_snapshot_of_a_comparison_holds_the_runs_that_are_done() -> None:
    kept: list[Callable[[], Any]] = []
    compare(network(), images()[15], epsilon=0.1, solvers=["phase", "highs"], snapshots=kept.append)
    results = [snapshot() for snapshot in kept]
    ran = [tuple(run.pair.solver for run in result.runs) for result in results]
    assert list(dict.fromkeys(ran)) == [(), ("phase",), ("phase", "highs")]
    first = results[ran.index(("phase",))]
    assert [str(one) for one in first.skipped] == ["highs, big_m: not finished yet"]
    # a program more each time, but at the end of a run
    programs = [sum(len(run.each) for run in result.runs) for result in results]
    assert programs == sorted(programs)
    assert set(programs) == set(range(programs[-1] + 1))
    assert all(json.loads(result.to_json())["agree"] for result in results)


# each check takes a while, so that the run is far from done when it is killed
OFTEN = "from milp_verix.cli import progress; progress._SECONDS_BETWEEN_SAVES = 0.5"
COMMAND = slowed("milp_verix.oracle.oracle", "Oracle.check", 0.15, OFTEN)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "read"),
    [
        ("explain", Explanation.from_json),
        ("minimum", Explanation.from_json),
        ("contrastive", ContrastiveExplanation.from_json),
        ("enumerate", Enumeration.from_json),
        ("compare", None),
    ],
)
def test_a_run_that_is_killed_leaves_its_result_so_far(
    command: str, read: Callable[[Path], Any] | None, tmp_path: Path
) -> None:
    out = tmp_path / "out.json"
    args = [command, MODEL, f"{IMAGES}:images[4]", "--epsilon", 0.2, "--json", out]
    if command == "explain":
        args += ["--traversal", "sequential"]  # more than two checks
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_until(lambda: out.exists() or process.poll() is not None, seconds=120)
        first = out.read_bytes()
        if read is not None:
            # more is found, and is there some seconds later
            wait_until(lambda: out.read_bytes() != first or process.poll() is not None, seconds=120)
        assert process.poll() is None, process.communicate()
    finally:
        process.kill()
        process.communicate()
    if read is None:
        assert json.loads(out.read_text())["agree"]
        return
    found = read(out)
    assert found.statistics.stopped is None
    if command == "contrastive":
        assert found.contrast is None or found.replay(network())
        assert found.lower_bound >= 1
    else:
        assert found.replay(network()) == ()
    if isinstance(found, Explanation):
        assert_sound(found, network(), images()[4])
        known = found.counterfactuals or found.irrelevant
        assert known or (command == "minimum" and found.lower_bound)
