"""Certificates of bounds: proven again without the solver, and refused where they prove less."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from milp_verix.solvers import SolveResult, SolveStatus, Targets, open_session
from milp_verix.solvers.warm_lp import LpResult, WarmLp
from tests.support.random_networks import cube, network_of, random_layers
from tests.support.scipy_reference import optimum, over
from tests.support.unsolvable_problems import hard_cost, hard_program
from verix_encodings import Program, ProgramBuilder
from verix_encodings.safe_bounds import Leaf, certified_bound

Cost = NDArray[np.float64]


def drawn(seed: int) -> tuple[Program, Cost]:
    """Return the program of a tiny network, and the cost that is minus one of its outputs."""
    rng = np.random.default_rng(seed)
    shape = ((3, 5, 2), (4, 4, 3, 2), (3, 6, 4, 2))[seed % 3]
    encoding = over(network_of(random_layers(rng, shape)), cube(shape[0]))
    row, _ = encoding.output.row(seed % 2, encoding.program.columns)
    return encoding.program, -row


def solved(program: Program, cost: Cost, targets: Targets) -> SolveResult:
    session = open_session("phase")
    try:
        session.load(program)
        return session.minimise(cost, replace(targets, certify=True))
    finally:
        session.close()


def leaves_of(program: Program, cost: Cost) -> tuple[Leaf, ...]:
    result = solved(program, cost, Targets())
    assert result.certificate is not None
    return result.certificate


@pytest.mark.parametrize("seed", range(60))
def test_the_bound_of_a_search_is_proven_again(seed: int) -> None:
    program, cost = drawn(seed)
    best, _ = optimum(program, cost)
    targets = (
        Targets(),
        Targets(holds_above=best - 0.1),
        Targets(violated_below=best + 0.1, holds_above=best + 0.2),
        Targets(probe=lambda _point: True),
        Targets(seconds=0.0),
    )
    for target in targets:
        result = solved(program, cost, target)
        assert result.certificate is not None
        proven = certified_bound(program, cost, result.certificate)
        assert result.bound <= proven <= best + 1e-12 * (1 + abs(best))
    assert certified_bound(program, cost, leaves_of(program, cost)) >= best - 1e-6


@pytest.mark.parametrize("status", SolveStatus)
@pytest.mark.parametrize("rays", [None, 0.0, 1.0, np.nan])
def test_the_word_of_the_linear_solver_proves_nothing(
    status: SolveStatus, rays: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, cost = drawn(3)
    best, _ = optimum(program, cost)
    multipliers = None if rays is None else np.full(program.rows, rays)
    said = LpResult(status, None, multipliers, 0, "no reason")
    monkeypatch.setattr(WarmLp, "solve", lambda *_: said)
    for targets in (Targets(), Targets(holds_above=best + 1.0)):
        result = solved(program, cost, targets)
        assert result.bound <= best
        ends = SolveStatus.TIME_LIMIT if status is SolveStatus.TIME_LIMIT else SolveStatus.FAILED
        assert result.status is ends


def test_some_of_the_proofs_have_many_cases() -> None:
    assert max(len(leaves_of(*drawn(seed))) for seed in range(60)) > 8


def test_a_search_that_was_stopped_has_proven_something() -> None:
    program, cost = hard_program(), hard_cost()
    result = solved(program, cost, Targets(seconds=0.3))
    assert result.certificate is not None
    assert len(result.certificate) > 8
    assert certified_bound(program, cost, result.certificate) >= result.bound > -np.inf


def test_cases_without_a_point_are_proven_to_have_none() -> None:
    builder = ProgramBuilder()
    d = builder.add_columns("d", np.arange(3), 0.0, 1.0, integer=True)
    # one or two of three, and an odd sum: d_0 + d_1 + d_2 = 1.5
    builder.add_rows("sum", np.arange(1), [(np.ones((1, 3)), d)], 1.5, 1.5)
    program, cost = builder.build(), np.ones(3)
    result = solved(program, cost, Targets())
    assert result.certificate is not None
    assert len(result.certificate) > 2
    assert certified_bound(program, cost, result.certificate) == np.inf


def test_no_certificate_is_kept_unless_asked_for() -> None:
    program, cost = drawn(0)
    session = open_session("phase")
    session.load(program)
    assert session.minimise(cost, Targets()).certificate is None
    session.close()


def many_cases(seed: int) -> tuple[Program, Cost, tuple[Leaf, ...]]:
    """Return a problem whose certificate has more than one case."""
    for other in range(seed, 100):
        program, cost = drawn(other)
        leaves = leaves_of(program, cost)
        if len(leaves) > 1:
            return program, cost, leaves
    raise AssertionError("no seed has a proof with several cases")


@pytest.mark.parametrize("seed", range(0, 40, 4))
def test_a_leaf_that_is_missing_is_noticed(seed: int) -> None:
    program, cost, leaves = many_cases(seed)
    for k in range(len(leaves)):
        with pytest.raises(ValueError, match="leave out the case"):
            certified_bound(program, cost, (*leaves[:k], *leaves[k + 1 :]))
    with pytest.raises(ValueError, match="leave out the case"):
        certified_bound(program, cost, ())


@pytest.mark.parametrize("seed", range(0, 40, 4))
def test_other_phases_or_multipliers_never_prove_too_much(seed: int) -> None:
    program, cost, leaves = many_cases(seed)
    best, _ = optimum(program, cost)
    rng = np.random.default_rng(seed)
    refused = weaker = 0
    for _ in range(40):
        k = int(rng.integers(len(leaves)))
        y, fixed = leaves[k].multipliers.copy(), list(leaves[k].fixed)
        if rng.random() < 0.5:
            which = int(rng.integers(y.size))
            y[which] = (-y[which], y[which] + rng.normal(), 1e9, np.nan)[rng.integers(4)]
        elif fixed:
            which = int(rng.integers(len(fixed)))
            column, value = fixed[which]
            fixed[which] = column, 1 - value
        changed = (*leaves[:k], Leaf(tuple(fixed), y), *leaves[k + 1 :])
        try:
            found = certified_bound(program, cost, changed)
        except ValueError:
            refused += 1
            continue
        assert found <= best + 1e-12 * (1 + abs(best))
        weaker += found < best - 1e-3
    assert refused
    assert weaker


@pytest.mark.parametrize(
    ("leaf", "said"),
    [
        (Leaf((), np.zeros(1)), "multipliers of shape"),
        (Leaf(((0, 1),), np.zeros(0)), "no binary of the program"),
        (Leaf(((99, 1),), np.zeros(0)), "no binary of the program"),
        (Leaf(((1, 2),), np.zeros(0)), "no binary of the program"),
    ],
)
def test_a_leaf_of_another_program_is_refused(leaf: Leaf, said: str) -> None:
    builder = ProgramBuilder()
    builder.add_columns("x", np.arange(1), 0.0, 1.0)
    builder.add_columns("d", np.arange(1), 0.0, 1.0, integer=True)
    with pytest.raises(ValueError, match=said):
        certified_bound(builder.build(), np.ones(2), [leaf])


def cases(count: int, chosen: Sequence[dict[int, int]]) -> tuple[Program, list[Leaf]]:
    builder = ProgramBuilder()
    builder.add_columns("d", np.arange(count), 0.0, 1.0, integer=True)
    return builder.build(), [Leaf(tuple(case.items()), np.zeros(0)) for case in chosen]


@pytest.mark.parametrize("seed", range(200))
def test_cover_is_judged_as_by_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = 4
    chosen = [
        {j: int(rng.integers(2)) for j in range(count) if rng.random() < 0.4}
        for _ in range(rng.integers(1, 9))
    ]
    program, leaves = cases(count, [case for case in chosen if case])
    covered = all(
        any(all(pattern[j] == b for j, b in leaf.fixed) for leaf in leaves)
        for pattern in product((0, 1), repeat=count)
    )
    if covered:
        assert certified_bound(program, np.ones(count), leaves) <= 0
    else:
        with pytest.raises(ValueError, match="leave out the case"):
            certified_bound(program, np.ones(count), leaves)


def test_drawn_cases_come_both_ways() -> None:
    program, leaves = cases(2, [{0: 0}, {0: 1, 1: 0}, {1: 1}])
    assert certified_bound(program, np.ones(2), leaves) <= 0
    fixed = replace(program, column_lower=np.array([1.0, 0.0]))
    assert certified_bound(fixed, np.ones(2), leaves[1:]) == pytest.approx(1.0)
