"""Comparisons that are interrupted anywhere, and go on to the rows that they would have had."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from milp_verix import Comparison, InputError, compare
from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.verdict import Answer
from milp_verix.results.comparison import Pair, ProgramRecord
from tests.support.clocks import wait_until
from tests.support.command_line import slowed
from tests.support.interrupts import interrupting
from tests.support.random_networks import dense_network, random_layers

FREE = [[0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5], [0, 2], [3, 4, 5]]
OPTIONS: dict[str, Any] = {"epsilon": 0.3, "bounds": "interval", "check_time_limit": 20.0}
Asked = Callable[..., Comparison]


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Return a comparison of several programs, of which no attack decides one before solvers."""
    monkeypatch.setattr(Oracle, "attacked", lambda *_: {})
    model = dense_network(random_layers(np.random.default_rng(30), (6, 6, 4, 3)), tmp_path)
    usual = {**OPTIONS, "checks": FREE, "solvers": ["highs", "phase"]}
    return lambda **more: compare(model, np.full(6, 0.5), **{**usual, **more})


def _records(found: Comparison) -> dict[tuple[Pair, int, int, int], ProgramRecord]:
    return {(run.pair, r.check, r.rival, r.seed): r for run in found.runs for r in run.each}


def _answers(found: Comparison) -> dict[Any, Any]:
    return {key: (one.digest, one.answer, one.check_answer) for key, one in _records(found).items()}


@pytest.mark.parametrize("seeds", [1, 2])
def test_it_goes_on_to_equal_rows(asked: Asked, seeds: int) -> None:
    whole = asked(seeds=seeds)
    programs, kept = len(_records(whole)), 0
    assert programs >= 6 * seeds
    for after in range(2, programs + 1, 2):
        left = asked(seeds=seeds, snapshots=interrupting(after))
        assert left.stopped == "interrupted"
        before = _records(left)
        assert after - 2 - len(whole.runs) * seeds <= len(before) < programs
        found = asked(seeds=seeds, resume=left)
        assert _answers(found) == _answers(whole)
        assert list(_records(found)) == list(_records(whole))
        assert found.agree
        assert found.stopped is None
        assert [run.answers for run in found.runs] == [run.answers for run in whole.runs]
        assert all(
            run.version and run.parameters for run in found.runs if run.pair.solver != "phase"
        )
        for key, one in before.items():
            # what held was not solved again, what has a counterfactual was
            assert (_records(found)[key].seconds == one.seconds) == (one.answer is Answer.HOLDS)
            kept += one.answer is Answer.HOLDS
        took = sum(run.inside.solve_seconds for run in found.runs)
        parts = sum(one.solve_seconds for one in _records(found).values() if one.seed == 0)
        assert seeds > 1 or took == pytest.approx(parts)
    assert kept > 3


def test_other_solvers_may_join(asked: Asked) -> None:
    one = asked(solvers=["highs"])
    both = asked(resume=one)
    assert [run.pair.solver for run in both.runs] == ["highs", "phase"]
    held = [key for key, row in _records(one).items() if row.answer is Answer.HOLDS]
    assert held
    assert all(_records(both)[key].seconds == _records(one)[key].seconds for key in held)
    notes = [note for run in both.runs for note in run.notes]
    assert any("an earlier comparison answered" in note for note in notes)


def test_a_limit_of_all_leaves_no_answer(asked: Asked) -> None:
    data = json.loads(asked().to_json())
    for run in data["runs"]:
        for row in run["each"]:
            row |= {"answer": "unknown", "reason": "time limit", "seconds": 3.0}
    late = asked(resume=json.dumps(data))  # cut short before its own 20 seconds
    assert all(row.seconds != 3.0 for row in _records(late).values())
    for run in data["runs"]:
        for row in run["each"]:
            row["seconds"] = 20.5
    late = asked(resume=json.dumps(data))
    assert all(row.seconds == 20.5 for row in _records(late).values())


def test_it_refuses_what_is_about_other_programs(asked: Asked, tmp_path: Path) -> None:
    found = asked()
    for more, words in (
        ({"epsilon": 0.2}, "another epsilon"),
        ({"bounds": "crown"}, "another options"),
        ({"domain": (0.0, 0.9)}, "another options"),
        ({"features": [[0], [1], [2], [3], [5], [4]]}, "another options"),
        ({"checks": FREE[:2]}, "other checks"),
        ({"rounds": 2}, "rounds"),
    ):
        with pytest.raises(InputError, match=words):
            asked(**more, resume=found)
    data = json.loads(found.to_json())
    for name in ("checks", "runs"):
        with pytest.raises(InputError, match=f"resume: .*it lacks '{name}'"):
            asked(resume=json.dumps({key: data[key] for key in data if key != name}))
    (tmp_path / "other.json").write_text('{"schema": 2, "kind": "study"}')
    for text in (tmp_path / "other.json", tmp_path / "none.json", "{}", '{"schema": 2'):
        with pytest.raises(InputError, match="resume"):
            asked(resume=text)


# each solve takes a while, so that the run is far from done when it is killed
SLOWLY = slowed("milp_verix.oracle.engines.programs", "Programs.decide", 0.5)


@pytest.mark.slow
def test_it_goes_on_after_kill_9(tmp_path: Path) -> None:
    out, command = (
        tmp_path / "out.json",
        "compare examples/digits.onnx examples/digits.npz:images[0]",
    )
    args = [*command.split(), "--epsilon", "0.25", "--solvers", "highs,phase", "--json", str(out)]
    with subprocess.Popen([sys.executable, "-c", SLOWLY, *args], stdout=subprocess.PIPE) as process:
        wait_until(lambda: len(_each(out)) > 3 or process.poll() is not None, seconds=120)
        process.kill()
    before, data = _each(out), json.loads(out.read_text())
    assert len(before) > 3
    assert (data["command"], data["stopped"]) == (args, "not finished yet")
    subprocess.run([sys.executable, "-m", "milp_verix", *args, "--resume", str(out)], check=True)
    found = {_key(row): row for row in _each(out)}
    assert len(found) > len(before)
    held = [row for row in before if row["answer"] == "holds"]
    assert held
    assert all(found[_key(row)]["seconds"] == row["seconds"] for row in held)
    assert json.loads(out.read_text())["stopped"] is None


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("solver", "check", "rival", "digest"))


def _each(out: Path) -> list[dict[str, Any]]:
    runs = json.loads(out.read_text())["runs"] if out.exists() else []
    return [row for run in runs for row in run["each"]]
