"""Sets are refuted all at once as by the network, one input after the other."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from milp_verix.oracle.attacks import PerturbationSet
from milp_verix.searches.minimum.branch_and_cut import Restriction
from milp_verix.searches.minimum.enumeration import (
    FirstLayer,
    Unrefuted,
    reduced_cost_sets,
    refuting_margins,
)
from tests.support.random_networks import network_of, random_graph, random_layers
from tests.support.scenario_cases import full_selection
from verix_encodings import Affine, Interval, Network, Relu
from verix_encodings.network import batch_values
from verix_encodings.scenario import SLACK

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
    delta = rng.uniform(p.moves.box.lower, p.moves.box.upper)
    free = restriction.free.size
    sets = reduced_cost_sets(np.ones(free), rng.normal(scale=0.1, size=free), 3.0, 7.0, 100_000)
    assert sets is not None
    assert sets.shape[1] > 100
    rows = sets.T
    selection = np.array([full_selection(restriction, row) for row in rows])
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
    kept = {tuple(row) for row in left.sets.T.tolist()}
    assert len(kept) == left.count
    for row, gone in zip(rows[clear].tolist(), refuted[clear].tolist(), strict=True):
        assert (tuple(row) in kept) != gone
    assert kind == "graph" or 0 < len(kept) < sets.shape[1]
    if kept:
        assert left.first[restriction.fixed_in].all()
        assert tuple(left.first[restriction.free].tolist()) in kept
    assert not left.refute(delta)
    assert left.count == len(kept)


@pytest.mark.parametrize("kind", ["layers", "sparse", "skip", "graph"])
@pytest.mark.parametrize("seed", range(8))
def test_what_is_added_is_within_the_error_that_is_allowed(kind: str, seed: int) -> None:
    p, restriction, rng = _case(kind, seed)
    delta = rng.uniform(p.moves.box.lower, p.moves.box.upper)
    matrix, bias, network = FirstLayer(p, restriction).at(delta)
    single = kind in ("layers", "sparse")
    assert single == (network.input_size == network.sizes[0] == p.margins.sizes[1])
    error = refuting_margins(p) - SLACK
    for bits in product((0.0, 1.0), repeat=4):
        selection = rng.integers(2, size=restriction.free.size).astype(float)
        selection[:4] = bits
        exact = p.margins.evaluate(
            p.centre + p.weight(full_selection(restriction, selection)) * delta
        )
        # both are rounded
        assert np.all(np.abs(network.evaluate(matrix @ selection + bias) - exact) <= 2 * error)
