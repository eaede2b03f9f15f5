"""Programs begin anew with deeper bounds where they take long."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from milp_verix import Answer, Problem, Search, explain
from milp_verix.base.clock import NO_LIMIT
from milp_verix.oracle.engines import programs
from milp_verix.oracle.engines.engine import Claim
from milp_verix.oracle.engines.programs import Programs, deepened
from milp_verix.oracle.verdict import Stage
from tests.support.onnx_models import build, node
from tests.support.open_claims import open_claim
from verix_encodings import NormBall, crown_bounds, encode
from verix_encodings.deepening import Deepening


def _programs(problem: Problem, *, deepens: bool = True) -> Programs:
    search = Search(segments=3, warm="rebuilt")
    return Programs(problem, search, "phase", deepens=deepens)


def _claim(folder: Path, depth: int | None = 0) -> tuple[Problem, Claim]:
    problem, claim = open_claim(folder, NO_LIMIT)
    bounds = crown_bounds(claim.margins, claim.region)
    return problem, replace(claim, bounds=bounds, upper=bounds[-1].upper, depth=depth)


def _assert_hold(claim: Claim) -> None:
    box = claim.region.box
    points = np.random.default_rng(0).uniform(box.lower, box.upper, (200, box.lower.size))
    assert not isinstance(claim.region, NormBall)
    for point in points:
        values = claim.margins.values(point)
        for value, interval in zip(values, claim.bounds, strict=True):
            assert np.all(value >= interval.lower - 1e-9)
            assert np.all(value <= interval.upper + 1e-9)


def test_a_long_check_has_a_smaller_program_and_the_same_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "_FIRST", 0.0)
    problem, claim = _claim(tmp_path)
    seen: list[Stage] = []
    claim = replace(claim, on_stage=seen.append)
    known = _programs(problem, deepens=False).decide(claim)
    engine = _programs(problem)
    found = engine.decide(claim)
    engine.close()
    assert found.verdict.answer is known.verdict.answer is not Answer.UNKNOWN
    assert known.deeper is None
    assert found.deeper is not None
    assert found.deeper.depth == 2
    assert seen == [Stage.SLOPES, Stage.TREES, Stage.SOLVES]
    assert sum(found.verdict.effort.stages[:-1]) > 0
    before = encode(claim.margins, claim.bounds).program
    after = encode(claim.margins, found.deeper.bounds).program
    assert after.binaries < before.binaries
    assert after.largest_big_m < before.largest_big_m
    _assert_hold(claim.after(found))
    # the next check of the same bounds has no need of deeper ones
    again = engine.decide(replace(claim.after(found), open_=claim.open_))
    engine.close()
    assert again.deeper is None
    assert seen == [Stage.SLOPES, Stage.TREES, Stage.SOLVES]


def test_bounds_that_must_not_be_deepened_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "_FIRST", 0.0)
    problem, claim = _claim(tmp_path, depth=None)
    engine = _programs(problem)
    assert engine.decide(claim).deeper is None
    engine.close()


def test_what_deeper_bounds_prove_is_left_out(tmp_path: Path) -> None:
    _, claim = _claim(tmp_path)
    deepening = Deepening(claim.margins, claim.region, claim.bounds)
    deepening.go_on()
    deepening.go_on()
    proven = deepening.bounds[-1].upper
    # one margin is asked for a little more than bounds prove, the other for less
    ways = np.array([1e-3, -1e-3])
    found, _ = deepened(replace(claim, needed=-(proven + ways)), NO_LIMIT)
    assert found.open_.tolist() == [1]
    assert np.all(found.upper <= claim.upper)
    _assert_hold(found)


@pytest.mark.parametrize(("function", "segments"), [("Softmax", False), ("Sin", True)])
def test_a_wide_enclosure_is_told_by_the_functions_that_it_is_of(
    function: str, segments: bool
) -> None:
    nodes = [
        node("Gemm", ["x", "A"], ["h"]),
        node(function, ["h"], ["s"]),
        node("Gemm", ["s", "B"], ["y"]),
    ]
    reasons = set[str]()
    for rng in map(np.random.default_rng, range(6)):
        weights = {"A": rng.normal(size=(4, 4)) * 3, "B": rng.normal(size=(4, 3))}
        model = build(nodes, inputs={"x": (1, 4)}, constants=weights)
        found = explain(model, np.full((1, 4), 0.5), epsilon=0.3, solver="highs", segments=1)
        reasons |= set(found.unknown_reasons.values())
    assert reasons
    for reason in reasons:
        assert reason.startswith(f"the enclosure of {function.lower()} is too wide to decide")
        # softmax is between planes: more segments would not help
        assert reason.endswith("give more segments") is segments
