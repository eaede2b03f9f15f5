"""The sets that all rows of a node leave: none of interest is missing, and they prove minima."""

from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from milp_verix import minimum
from milp_verix.global_search import (
    branch_and_cut as scenario_tree,
)
from milp_verix.global_search import (
    separation,
)
from milp_verix.global_search.enumeration.candidates import candidates
from milp_verix.global_search.enumeration.set_products import CandidateSets
from milp_verix.global_search.heuristics.incumbent import Incumbent
from milp_verix.global_search.pricing.perturbation_set import perturbations_of
from milp_verix.global_search.relaxation import surviving_sets
from milp_verix.global_search.relaxation.constraint_pool import ConstraintPool
from milp_verix.global_search.relaxation.node import Fixings
from milp_verix.global_search.relaxation.relaxation import Relaxation
from milp_verix.global_search.separation import NodeRemainder, Separator
from milp_verix.oracle.oracle import Oracle
from milp_verix.problem.objective import make_objective
from milp_verix.problem.problem import make_problem
from milp_verix.solvers.phase.warm_lp import WarmLp
from milp_verix.tolerances import Tolerances
from tests.support.brute_force_cases import case
from tests.support.digits_example import images, network
from tests.support.exhaustive_explanations import cheapest, fewest
from tests.support.onnx_models import FLOAT
from tests.support.random_networks import dense_network, random_layers
from tests.support.scenario_cases import COUNT, drawn_constraints, drawn_perturbations, of_interest
from verix_encodings.arrays import FloatArray
from verix_encodings.models.constraints import Constraint, Scenario
from verix_encodings.models.restricted import Restriction

_KINDS = 3
_NEAR = 1e-6


def _eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask for multipliers from the first beginnings on."""
    monkeypatch.setattr(surviving_sets, "_WORTH", 2)
    monkeypatch.setattr(surviving_sets, "_EVERY", 1)


def _costs(rng: np.random.Generator, kind: int) -> FloatArray:
    """Return costs that are equal, whole or fractional."""
    kinds = np.ones(COUNT), rng.integers(0, 5, COUNT).astype(float), rng.random(COUNT)
    return kinds[kind]


def _relaxation(
    seed: int, tmp_path: Path
) -> tuple[Relaxation, list[Constraint], float, np.random.Generator]:
    """Return a relaxation of scenarios, a cover and an order, and what sets may cost."""
    rng = np.random.default_rng([seed, 61])
    p = drawn_perturbations(rng, tmp_path)
    constraints = drawn_constraints(rng, p)
    costs = _costs(rng, seed % _KINDS)
    relaxation = Relaxation(
        WarmLp(1, Tolerances()), ConstraintPool(p), make_objective(COUNT, costs, (), ())
    )
    relaxation.extend(constraints)
    cutoff = float(rng.uniform(0.4, 1.0) * costs.sum())
    if seed % 2:
        relaxation.tighten(cutoff, np.inf)
    return relaxation, constraints, cutoff, rng


def _node(rng: np.random.Generator, relaxation: Relaxation) -> Fixings:
    """Return some phases and features at either end."""
    phases, features = relaxation._now.table.phase, np.arange(relaxation._costs.size)
    count = min(int(rng.integers(0, 3)), phases.size), min(int(rng.integers(0, 3)), features.size)
    columns = np.concatenate(
        [rng.permutation(phases)[: count[0]], rng.permutation(features)[: count[1]]]
    )
    return columns, rng.integers(0, 2, columns.size).astype(float)


def _restriction_of(
    rng: np.random.Generator, relaxation: Relaxation, fixings: Fixings
) -> Restriction:
    """Return what is fixed, and up to two features that are settled for another reason."""
    restriction = relaxation.remaining([fixings])
    others = rng.permutation(restriction.free)[: int(rng.integers(0, 3))]
    return relaxation.remaining([fixings, (others, rng.integers(0, 2, others.size).astype(float))])


def _in_node(
    relaxation: Relaxation, fixings: Fixings, restriction: Restriction, taken: FloatArray
) -> bool:
    """Return whether a set is in the node, beyond doubt."""
    if not np.array_equal(restriction.full_selection(taken[restriction.free]), taken):
        return False
    table = relaxation._now.table
    for column, value in zip(*fixings, strict=True):
        for place in np.flatnonzero(table.phase == column):
            constraint = relaxation._constraints[int(table.constraint[place])]
            assert isinstance(constraint, Scenario)
            source = constraint.network.nodes[int(table.node[place])].sources[0]
            z = constraint.network.values(taken)[source][int(table.neuron[place])]
            if (z > -_NEAR) if value == 0.0 else (z < _NEAR):
                return False
    return True


@dataclass
class _Seen:
    """How many sets there were in nodes, of interest there, and found."""

    affordable: int = 0
    of_interest: int = 0
    found: int = 0
    phases: int = 0


def _assert_none_is_missing(
    relaxation: Relaxation,
    fixings: Fixings,
    restriction: Restriction,
    cutoff: float,
    interesting: list[FloatArray],
    seen: _Seen,
) -> None:
    sets = relaxation.surviving(fixings, restriction, cutoff, 10**6)
    assert sets is not None
    found = {tuple(row) for row in sets.rows().tolist()}
    assert len(found) == len(sets)
    mine = [taken for taken in interesting if _in_node(relaxation, fixings, restriction, taken)]
    for taken in mine:
        assert tuple((taken[restriction.free] > 0).tolist()) in found
    asked = relaxation._surrogates(fixings)
    for row in found:
        taken = restriction.full_selection(np.array(row, dtype=float))
        assert relaxation.cost(taken > 0) <= cutoff + 1e-5
        sizes = np.abs(asked.matrix).sum(axis=1) + 1.0
        assert np.all(asked.matrix @ taken + asked.constant <= 1e-6 * sizes)
    count = restriction.free.size
    all_ = [
        restriction.full_selection(np.array(bits, dtype=float))
        for bits in product((0, 1), repeat=count)
    ]
    seen.affordable += sum(relaxation.cost(taken > 0) <= cutoff for taken in all_)
    seen.of_interest += len(mine)
    seen.found += len(found)
    seen.phases += bool(np.isin(relaxation._now.table.phase, fixings[0]).any())


@pytest.mark.parametrize("eager", [False, True])
def test_no_set_of_interest_is_missing(
    eager: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if eager:
        _eager(monkeypatch)
    whole, inner = _Seen(), _Seen()
    for seed in range(20):
        relaxation, constraints, cutoff, rng = _relaxation(seed, tmp_path)
        sets = [s for s in of_interest(constraints) if relaxation.cost(s > 0) <= cutoff]
        for _ in range(5):
            fixings = _node(rng, relaxation)
            restriction = _restriction_of(rng, relaxation, fixings)
            # by duals of another node, or none
            _assert_none_is_missing(relaxation, fixings, restriction, cutoff, sets, _Seen())
            relaxation.solve(fixings, np.inf, np.inf)
            _assert_none_is_missing(relaxation, fixings, restriction, cutoff, sets, whole)
            smaller = relaxation.reduced(restriction, fixings)
            mine = [
                s[restriction.free] for s in sets if _in_node(relaxation, fixings, restriction, s)
            ]
            if smaller is None:
                assert not mine
                continue
            further = _node(rng, smaller)
            within = _restriction_of(rng, smaller, further)
            left = cutoff - relaxation.cost(restriction.fixed_in)
            smaller.solve(further, np.inf, np.inf)
            _assert_none_is_missing(smaller, further, within, left, mine, inner)
            smaller.close()
        relaxation.close()
    for seen in (whole, inner):
        assert seen.of_interest > 100
        assert seen.phases > 30
        # and many of the others are not found
        assert seen.found - seen.of_interest < 0.6 * (seen.affordable - seen.of_interest)


def test_no_set_of_a_node_is_below_its_bound_or_without_what_is_forced(tmp_path: Path) -> None:
    seen = forced = close = 0
    for seed in range(20):
        relaxation, constraints, cutoff, rng = _relaxation(seed, tmp_path)
        sets = [s for s in of_interest(constraints) if relaxation.cost(s > 0) <= cutoff]
        for _ in range(6):
            fixings = _node(rng, relaxation)
            restriction = relaxation.remaining([fixings])
            mine = [s for s in sets if _in_node(relaxation, fixings, restriction, s)]
            costs = sorted({relaxation.cost(s > 0) for s in mine})
            # a little above each cost: what is forced is about sets that are cheaper
            for limit in [cost + 1e-3 for cost in costs[:4]]:
                relaxed = relaxation.solve(fixings, limit, np.inf)
                columns, values = relaxed.reduced_cost_fixings
                forced += columns.size
                for taken in (s for s in mine if relaxation.cost(s > 0) < limit):
                    cost = relaxation.cost(taken > 0)
                    assert relaxed.bound <= cost + 1e-9
                    np.testing.assert_array_equal(taken[columns], values)
                    seen, close = seen + 1, close + (relaxed.bound > cost - 0.2)
        relaxation.close()
    assert (seen > 300, forced > 50, close > 30) == (True, True, True), (seen, forced, close)


def test_what_is_not_known_to_be_violated_is_left(tmp_path: Path) -> None:
    relaxation, _, cutoff, _ = _relaxation(2, tmp_path)
    nothing = np.zeros(0, dtype=np.intp), np.zeros(0)
    restriction = relaxation.remaining([nothing])
    every = [np.array(bits, dtype=bool) for bits in product((0, 1), repeat=COUNT)]
    affordable = {tuple(taken.tolist()) for taken in every if relaxation.cost(taken) <= cutoff}
    found = relaxation.surviving(nothing, restriction, cutoff, 200)
    assert found is not None
    assert {tuple(row) for row in found.rows().tolist()} == affordable
    assert relaxation.surviving(nothing, restriction, cutoff, 20) is None
    relaxation.solve(nothing, np.inf, np.inf)
    fewer = relaxation.surviving(nothing, restriction, cutoff, 200)
    assert fewer is not None
    assert len(fewer) < len(found)
    relaxation.close()


@dataclass
class _Closed:
    """How often sets were asked for, nodes closed, and how many sets found, some inside a tree."""

    asked: int = 0
    nodes: int = 0
    found: int = 0
    inside: int = 0


def _by_rows_alone(
    monkeypatch: pytest.MonkeyPatch, beginnings: int, *, explained: bool = False
) -> _Closed:
    """Refute the sets of nodes by rows, where ``beginnings`` suffice; return what comes of it.

    Unless ``explained`` there is no explanation at first: it would often be a minimum already, and
    leave little to search.
    """
    closed, enumerate_node, surviving = _Closed(), Separator.enumerate_node, Relaxation.surviving

    def enumerated(self: Separator, remainder: NodeRemainder) -> list[Constraint] | None:
        found = enumerate_node(self, remainder)
        closed.nodes += found is not None
        return found

    def counted(self: Relaxation, *asked: Any) -> CandidateSets | None:
        found = surviving(self, *asked)
        closed.asked += 1
        closed.found += 0 if found is None else len(found)
        closed.inside += found is not None and self._restriction is not None
        return found

    monkeypatch.setattr(Separator, "enumerate_node", enumerated)
    monkeypatch.setattr(Relaxation, "surviving", counted)
    monkeypatch.setattr(separation, "candidates", lambda *_: None)
    monkeypatch.setattr(separation, "_MOST_WAYS", np.inf)
    monkeypatch.setattr(separation, "_MOST_BEGINNINGS", beginnings)
    monkeypatch.setattr(scenario_tree, "_SHARE_FREE", 0.9)
    monkeypatch.setattr(scenario_tree, "_FIRST_TIGHTENING_INSIDE", 1)
    if not explained:
        monkeypatch.setattr(Incumbent, "explain", lambda *_: None)
    monkeypatch.setattr(Incumbent, "improve", lambda *_: None)
    # a better explanation leaves less to close
    monkeypatch.setattr(Incumbent, "descend", lambda *_: None)
    _eager(monkeypatch)
    return closed


@pytest.mark.parametrize("beginnings", [3, 1000])
def test_minima_by_rows_alone_are_those_of_brute_force(
    beginnings: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = _by_rows_alone(monkeypatch, beginnings)
    for seed in range(300, 345):
        problem = case(seed)
        options = {**problem.options, "master": "tree", "time_limit": 60}
        found = minimum(problem.network(tmp_path), problem.x, **options)
        assert found.proven, seed
        assert found.size == fewest(problem), seed
        assert problem.brute.holds(found.irrelevant), seed
    assert closed.asked >= 20
    assert closed.nodes


def test_minima_by_rows_alone_keep_costs_and_wishes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = _by_rows_alone(monkeypatch, 6)
    for seed in range(330, 345):
        problem = case(seed)
        count, rng = len(problem.groups), np.random.default_rng([seed, 62])
        costs = rng.integers(0, 6, count) + (rng.random(count).round(3) if seed % 2 else 0.0)
        must = set(rng.permutation(count)[: seed % 3 // 2].tolist())
        least = cheapest(problem, costs.tolist(), must, set())
        options = {**problem.options, "costs": costs, "must": sorted(must), "master": "tree"}
        found = minimum(problem.network(tmp_path), problem.x, **options)
        assert found.proven, seed
        assert found.cost == pytest.approx(least), seed
    assert closed.nodes >= 4


def test_minima_by_rows_alone_agree_with_a_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    posed = []
    for seed in range(14):
        rng = np.random.default_rng([seed, 63])
        layers = random_layers(rng, (9, *((5,) if seed % 2 else (4, 3)), 3), FLOAT)
        net, x = dense_network(layers, tmp_path), rng.random(9).astype(np.float32)
        options: dict[str, Any] = {"epsilon": float(rng.uniform(0.1, 0.5))}
        posed.append((net, x, options, minimum(net, x, master="program", **options)))
    # with an explanation few sets are left in most nodes, and without there are more nodes
    counts = []
    for explained in (False, True):
        with monkeypatch.context() as patched:
            counts.append(_by_rows_alone(patched, 12, explained=explained))
            for net, x, options, reference in posed:
                found = minimum(net, x, master="tree", time_limit=60, **options)
                assert reference.proven
                assert found.proven
                assert found.size == reference.size
    assert sum(closed.nodes for closed in counts) >= 10
    assert sum(closed.found for closed in counts) >= 20
    assert sum(closed.inside for closed in counts) >= 5


def test_rows_are_asked_only_where_there_are_too_many_sets_for_the_network(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    net, x = network(), images()[15]
    problem = make_problem(net, x, epsilon=0.1)
    restriction = Restriction(np.arange(64) < 40, np.arange(40, 60))
    by_rows = candidates(np.ones(20), np.zeros(20), 0.0, 0.0, 1)
    asked: list[int] = []

    def surviving(most: int) -> CandidateSets | None:
        asked.append(most)
        return by_rows

    def listed(budget: float) -> CandidateSets | None:
        asked.clear()
        remainder = NodeRemainder(restriction, np.zeros(64), np.ones(64), 40.0, budget, surviving)
        return separator._left(remainder)

    with Oracle(problem, "phase") as oracle:
        perturbations = perturbations_of(problem)
        incumbent = Incumbent(oracle, perturbations, make_objective(64, None, (), ()), 60.0)
        separator = Separator(perturbations, incumbent, np.inf)
        # two of the free features at most, or one
        two, one = 1 + 20 + 190, 1 + 20
        assert len(listed(42.5) or ()) == two
        assert not asked
        assert len(listed(41.5) or ()) == one
        assert not asked
        # counted as few, but more than may be listed
        monkeypatch.setattr(separation, "_MOST_SETS", two - 1)
        assert listed(42.5) is by_rows
        assert asked == [separation._MOST_BEGINNINGS]
        assert len(listed(41.5) or ()) == one
        assert not asked
        # counted as more than are worth listing, and as too many at all
        monkeypatch.setattr(separation, "_MOST_SETS", 10_000)
        monkeypatch.setattr(separation, "_WAYS_PER_SET", 1e-3)
        assert listed(41.5) is by_rows
        assert asked
        monkeypatch.setattr(separation, "_MOST_WAYS", one - 1)
        assert listed(41.5) is None
        assert not asked


def test_the_rest_of_an_inner_search_is_one_of_all_features() -> None:
    outer = Restriction(np.array([True, False, False, False, False]), np.array([1, 3, 4]))
    inner = Restriction(np.array([False, True, False]), np.array([0, 2]))
    selection, reduced_costs = np.array([0.5, 1.0, 0.0]), np.array([0.1, 0.2, -0.3])
    remainder = NodeRemainder(inner, selection, reduced_costs, 1.5, 2.0, lambda _: None).within(
        outer, 3.0
    )
    assert remainder.restriction.fixed_in.tolist() == [True, False, False, True, False]
    assert remainder.restriction.free.tolist() == [1, 4]
    assert remainder.selection.tolist() == [1.0, 0.5, 0.0, 1.0, 0.0]
    assert remainder.reduced_costs.tolist() == [0.0, 0.1, 0.0, 0.2, -0.3]
    assert (remainder.bound, remainder.budget) == (4.5, 5.0)
