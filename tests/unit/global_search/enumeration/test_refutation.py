"""Sets are refuted by their halves as by the network, one input after the other."""

from dataclasses import replace
from itertools import product
from math import prod

import numpy as np
import pytest

from milp_verix import minimum
from milp_verix.global_search.enumeration.reduced_cost_sets import reduced_cost_sets
from milp_verix.global_search.enumeration.refutation import (
    FirstLayer,
    NodeEnumeration,
    NodeRemainder,
    Unrefuted,
    refuting_margins,
)
from milp_verix.global_search.pricing.perturbation_set import PerturbationSet
from milp_verix.global_search.search_limits import SearchLimits
from milp_verix.records.verdict import Answer, Verdict
from tests.support.digits_example import images, network
from tests.support.random_networks import network_of, random_graph, random_layers
from tests.support.searches import digit, opened_incumbent
from verix_encodings import Affine, Interval, Network, Relu
from verix_encodings.models.restricted import Restriction
from verix_encodings.models.scenario import SLACK
from verix_encodings.network.batch import batch_values

pytestmark = pytest.mark.usefixtures("matrix_storage")

_INPUTS = 24
_FEATURES = 16


def _skipping(rng: np.random.Generator) -> Network:
    """Return two layers and a connection that skips them."""
    first, second = rng.normal(size=(6, _INPUTS)), rng.normal(size=(6, _INPUTS))
    nodes = (
        Affine(((0, first),), rng.normal(size=6)),
        Relu(1),
        Affine(((0, second), (2, rng.normal(size=(6, 6)))), rng.normal(size=6)),
        Relu(3),
        Affine(((4, rng.normal(size=(2, 6))),), rng.normal(size=2)),
    )
    return Network((_INPUTS,), nodes)


def _network(kind: str, rng: np.random.Generator) -> Network:
    if kind == "layers":
        return network_of(random_layers(rng, (_INPUTS, 7, 5, 3)))
    if kind == "sparse":
        matrix = rng.normal(size=(9, _INPUTS)) * (rng.random((9, _INPUTS)) < 0.3)
        first = Affine(((0, matrix), (0, matrix[::-1])), rng.normal(size=9))
        nodes = (first, Relu(1), Affine(((2, rng.normal(size=(3, 9))),), np.zeros(3)))
        return Network((_INPUTS,), nodes)
    if kind == "skip":
        return _skipping(rng)
    return random_graph(rng, size=_INPUTS)


def _case(kind: str, seed: int) -> tuple[PerturbationSet, Restriction, np.random.Generator]:
    rng = np.random.default_rng([seed, len(kind)])
    margins = _network(kind, rng)
    # every feature has a coordinate, and some have more
    feature_of = np.concatenate([np.arange(_FEATURES), rng.integers(_FEATURES, size=8)])
    radius = rng.uniform(0.1, 1.0)
    centre = rng.normal(size=_INPUTS)
    region = Interval(centre - radius, centre + radius)
    part = rng.permutation(_FEATURES)
    inside = np.zeros(_FEATURES, dtype=bool)
    inside[part[:3]] = True
    restriction = Restriction(inside, np.sort(part[3:15]))
    return PerturbationSet(margins, centre, region, feature_of), restriction, rng


@pytest.mark.parametrize("kind", ["layers", "sparse", "skip", "graph"])
@pytest.mark.parametrize("seed", range(8))
def test_what_is_refuted_is_what_the_network_refutes(kind: str, seed: int) -> None:
    p, restriction, rng = _case(kind, seed)
    delta = rng.uniform(p.lower, p.upper)
    free = restriction.free.size
    sets = reduced_cost_sets(np.ones(free), rng.normal(scale=0.1, size=free), 3.0, 7.0, 100_000)
    assert sets is not None
    assert len(sets) > 100
    rows = sets.rows()
    selection = np.array([restriction.full_selection(row.astype(float)) for row in rows])
    inputs = p.centre + np.array([p.weight(s) for s in selection]) * delta
    plain = batch_values(p.margins, inputs.T)[-1]
    # some sets are refuted, and some are not
    shift = np.quantile(plain, 0.9, axis=1)
    p = replace(p, margins=p.margins.then(np.eye(shift.size), -shift))
    least = refuting_margins(p)
    plain = batch_values(p.margins, inputs.T)[-1]
    left = Unrefuted(p, restriction, sets, least)
    refuted = np.any(plain > least[:, None], axis=0)
    # a number is above by chance where it differs by rounding alone
    clear = np.all(np.abs(plain - least[:, None]) > 1e-9, axis=0)
    assert left.refute(delta) == bool(refuted.any()) or not clear.all()
    kept = {tuple(row) for row in left.sets.rows().tolist()}
    assert len(kept) == len(left.sets)
    for row, gone in zip(rows[clear].tolist(), refuted[clear].tolist(), strict=True):
        assert (tuple(row) in kept) != gone
    assert kind == "graph" or 0 < len(kept) < len(sets)
    if kept:
        assert left.first[restriction.fixed_in].all()
        assert tuple(left.first[restriction.free].tolist()) in kept
    assert not left.refute(delta)
    assert len(left.sets) == len(kept)


@pytest.mark.parametrize("kind", ["layers", "sparse", "skip", "graph"])
@pytest.mark.parametrize("seed", range(8))
def test_what_is_added_is_within_the_error_that_is_allowed(kind: str, seed: int) -> None:
    p, restriction, rng = _case(kind, seed)
    delta = rng.uniform(p.lower, p.upper)
    matrix, bias, network = FirstLayer(p, restriction).at(delta)
    single = kind in ("layers", "sparse")
    assert single == (network.input_size == network.sizes[0] == p.margins.sizes[1])
    error = refuting_margins(p) - SLACK
    for bits in product((0.0, 1.0), repeat=4):
        selection = rng.integers(2, size=restriction.free.size).astype(float)
        selection[:4] = bits
        exact = p.margins.evaluate(
            p.centre + p.weight(restriction.full_selection(selection)) * delta
        )
        # both are rounded
        assert np.all(np.abs(network.evaluate(matrix @ selection + bias) - exact) <= 2 * error)


@pytest.mark.parametrize("seed", range(20))
def test_halves_add_up(seed: int) -> None:
    rng = np.random.default_rng(seed)
    costs = rng.integers(1, 4, 14).astype(float)
    found = reduced_cost_sets(costs, rng.normal(scale=0.2, size=14), 4.0, 6.0, 100_000)
    assert found is not None
    assert len(found) > 10
    matrix, bias = rng.normal(size=(5, 14)), rng.normal(size=5)
    for _ in range(3):
        one, two = found.halves(matrix, bias)
        rows = found.rows()
        np.testing.assert_allclose(
            one[found.of_first] + two[found.of_second], rows @ matrix.T + bias, atol=1e-12
        )
        survive = rng.random(len(found)) < 0.2
        found = found.kept(survive)
        assert np.array_equal(found.rows(), rows[survive])
    assert prod(found.first.shape) <= 2 * len(found) * found.first_features.size


@pytest.mark.parametrize("index", [15, 16, 17])
def test_an_explanation_is_never_refuted_and_all_below_the_minimum_are(index: int) -> None:
    net, x = network(), images()[index]
    best = minimum(net, x, epsilon=0.1)
    assert best.proven
    explanation = np.array(best.explanation, dtype=int)
    rng = np.random.default_rng(index)
    others = rng.permutation(np.setdiff1d(np.arange(64), explanation))[:5]
    inside = np.zeros(64, dtype=bool)
    inside[explanation[3:]] = True
    restriction = Restriction(inside, np.sort(np.concatenate([explanation[:3], others])))
    selection = np.zeros(64)
    selection[explanation] = 1.0
    with opened_incumbent(digit(index, 0.1)) as incumbent:
        perturbations = incumbent.perturbations
        enumeration = NodeEnumeration(incumbent, SearchLimits(), np.inf)
        count = restriction.free.size

        def remainder(size: int) -> NodeRemainder:
            bounds = float(size - 1), float(size)
            return NodeRemainder(restriction, selection, np.zeros(count), *bounds)

        assert enumeration.refute(remainder(best.size)) is None
        # the set itself was met on the way, and proven
        assert incumbent.cost <= 64
        before = incumbent.adversary.known.shape[1]
        found = enumeration.refute(remainder(best.size - 1))
        assert found is not None
        assert all(delta.shape == (64,) for delta in found)
        assert incumbent.adversary.known.shape[1] >= before + len(found)
        subsets = reduced_cost_sets(np.ones(count), np.zeros(count), 0.0, 2.0, 1000)
        assert subsets is not None
        left = Unrefuted(perturbations, restriction, subsets, refuting_margins(perturbations))
        for delta in incumbent.adversary.known.T:
            sets = left.sets.rows()
            left.refute(delta)
            for row in sets:
                chosen = restriction.full_selection(row.astype(float))
                reached = perturbations.margins_at(perturbations.weight(chosen), delta[:, None])
                kept = bool(np.any(np.all(left.sets.rows() == row, axis=1)))
                assert kept == bool(np.max(reached) <= 1e-7) or abs(np.max(reached)) < 1e-6
        assert not len(left.sets)


def test_only_few_sets_are_listed() -> None:
    restriction = Restriction(np.arange(64) < 40, np.arange(40, 60))
    # two of the free features at most, or one
    two, one = 1 + 20 + 190, 1 + 20

    def listed(cutoff: float, **numbers: float) -> int | None:
        remainder = NodeRemainder(restriction, np.zeros(64), np.ones(20), 40.0, cutoff)
        sets = NodeEnumeration(incumbent, SearchLimits(**numbers), np.inf)._sets(remainder)
        return None if sets is None else len(sets)

    with opened_incumbent(digit(15, 0.1)) as incumbent:
        assert listed(42.5) == two
        assert listed(41.5) == one
        # estimated as few, but more than may be listed
        assert listed(42.5, most_sets=two - 1) is None
        assert listed(41.5, most_sets=two - 1) == one
        # estimated as more than are worth listing
        assert listed(41.5, most_sets=10_000, estimate_per_set=1e-3) is None
        # more work than a perturbation is worth
        assert listed(41.5, most_work=1.0) is None
        assert listed(39.5) == 0


@pytest.mark.parametrize(
    "limits",
    [SearchLimits(without=frozenset({"enumeration"})), SearchLimits(most_free=7)],
)
def test_nodes_are_not_closed_where_that_is_off_or_many_are_free(limits: SearchLimits) -> None:
    with opened_incumbent(digit(15, 0.1)) as incumbent:
        restriction = Restriction(np.zeros(64, dtype=bool), np.arange(8))
        # no set costs so little
        nothing = NodeRemainder(restriction, np.zeros(64), np.zeros(8), -2.0, -1.0)
        assert NodeEnumeration(incumbent, SearchLimits(), np.inf).refute(nothing) == []
        assert NodeEnumeration(incumbent, limits, np.inf).refute(nothing) is None


def test_no_set_is_refuted_once_time_is_up() -> None:
    with opened_incumbent(digit(15, 0.1)) as incumbent:
        restriction = Restriction(np.zeros(64, dtype=bool), np.arange(8))
        remainder = NodeRemainder(restriction, np.zeros(64), np.zeros(8), 0.0, 1.0)
        assert NodeEnumeration(incumbent, SearchLimits(), -np.inf).refute(remainder) is None
        found = NodeEnumeration(incumbent, SearchLimits(), np.inf).refute(remainder)
        # all of them at once, by few perturbations
        assert found is not None
        assert 0 < len(found) < 9


def test_a_set_that_cannot_be_decided_ends_the_enumeration(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with opened_incumbent(digit(0, 0.001)) as incumbent:
        asked: list[int] = []

        def unknown(*_: object) -> Verdict:
            asked.append(len(asked))
            return Verdict(Answer.UNKNOWN, reason="in doubt")

        monkeypatch.setattr(incumbent.oracle, "check", unknown)
        restriction = Restriction(np.zeros(64, dtype=bool), np.arange(8))
        remainder = NodeRemainder(restriction, np.zeros(64), np.zeros(8), 0.0, 1.0)
        enumeration = NodeEnumeration(incumbent, SearchLimits(), np.inf)
        for _ in range(3):
            assert enumeration.refute(remainder) is None
        assert asked == [0]
