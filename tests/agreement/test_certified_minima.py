"""Certified lower bounds against all subsets: each minimum is proven, and nothing above it."""

import json
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from milp_verix.api.calls import minimum
from milp_verix.base.clock import NO_LIMIT
from milp_verix.certificates.lower_bounds import bound_proof
from milp_verix.certificates.phase_leaves import NoProofError
from milp_verix.results.explanation import Explanation
from tests.support.brute_force_cases import Case, case
from tests.support.certificates import changed, checked, numbers_in
from tests.support.exhaustive_explanations import (
    CASES,
    cheapest,
    posed,
    subsets,
    truth,
    wide_case,
    wide_truth,
)
from tests.support.random_networks import as_layers, dense_network
from verix_checker.claim import Claim
from verix_checker.minimum import bounded

# wide cases whose proofs take several scenarios, and split neurons and features
WIDE = range(12)


def certified(problem: Case, folder: Path, **asked: Any) -> tuple[Explanation, bytes, Any]:
    """Return a minimum explanation, its network's file, and the content of its certificate."""
    network = problem.network(folder)
    found = minimum(network, problem.x, **{**problem.options, **asked})
    certificate = found.certify(network)
    assert certificate.proven, certificate.reason
    assert network.path is not None
    return found, network.path.read_bytes(), json.loads(certificate.to_json())


@pytest.mark.slow
@pytest.mark.parametrize(("norm", "seed"), CASES)
def test_the_minimum_of_all_subsets_is_certified(norm: str, seed: int, tmp_path: Path) -> None:
    problem, (explanations, _) = case(seed), truth(seed, norm)
    _, model, data = certified(problem, tmp_path, **posed(problem, norm))
    assert data["claim"]["minimum"] == {"bound": min(map(len, explanations))}
    assert checked(model, json.dumps(data))


def test_a_network_without_neurons_has_a_certified_minimum(tmp_path: Path) -> None:
    # 2 x0 + x1 + x2 - 2.4 stays above zero from 0.6 = 4 - 2.4 - 1 on, so x0 is needed, and x1 or x2
    weights = np.array([[0.0, 0.0, 0.0], [2.0, 1.0, 1.0]])
    network = dense_network(as_layers((weights, [0.0, -2.4])), tmp_path)
    found = minimum(network, np.ones(3), epsilon=1.0)
    certificate = found.certify(network)
    assert (found.size, certificate.bound) == (2, 2)
    assert network.path is not None
    assert checked(network.path.read_bytes(), certificate.to_json())


@pytest.mark.parametrize("seed", range(20))
def test_the_least_cost_of_all_subsets_is_certified(seed: int, tmp_path: Path) -> None:
    problem = case(seed)
    rng = np.random.default_rng([seed, 7])
    count = len(problem.groups)
    costs = rng.integers(0, 5, count).astype(float)
    must, must_not = (set(rng.permutation(count)[:1].tolist()) for _ in range(2))
    must_not -= must
    best = cheapest(problem, costs.tolist(), must, must_not)
    if best is None:
        must_not = set()
        best = cheapest(problem, costs.tolist(), must, must_not)
    wishes = {"costs": costs, "must": sorted(must), "must_not": sorted(must_not)}
    _, model, data = certified(problem, tmp_path, **wishes)
    assert data["claim"]["minimum"]["bound"] == best
    assert checked(model, json.dumps(data))


@pytest.mark.parametrize("seed", range(10))
def test_costs_with_many_digits_have_a_bound_just_below(seed: int, tmp_path: Path) -> None:
    problem = case(seed)
    costs = np.random.default_rng([seed, 9]).uniform(0.5, 1.5, len(problem.groups))
    best = cheapest(problem, costs.tolist(), set(), set())
    assert best is not None
    _, model, data = certified(problem, tmp_path, costs=costs)
    bound = Fraction(data["claim"]["minimum"]["bound"])
    assert best * 0.999 <= bound <= best * (1 + 1e-12)
    assert checked(model, json.dumps(data))


@pytest.mark.slow
@pytest.mark.parametrize("seed", WIDE)
def test_no_bound_above_the_minimum_is_proven(seed: int, tmp_path: Path) -> None:
    problem = wide_case(seed)
    best = min(map(len, wide_truth(seed)[0]))
    _, model, data = certified(problem, tmp_path)
    assert data["claim"]["minimum"] == {"bound": best}
    assert not checked(model, json.dumps(changed(data, ("claim", "minimum", "bound"), best + 1)))
    claim = Claim(model, data["claim"])
    for bound in (best + 1, f"{10 * best + 1}/10"):
        with pytest.raises(NoProofError, match="refutes a cheaper set"):
            bound_proof(claim, {"bound": bound}, NO_LIMIT)


def true_bound(explanations: Any, asked: Any, count: int) -> bool:
    """Return whether no explanation that a claim is about costs less than its bound."""
    costs = [Fraction(cost) for cost in asked.get("costs") or [1] * count]
    must, must_not = set(asked.get("must", ())), set(asked.get("must_not", ()))
    every = [
        chosen
        for chosen in subsets(range(count))
        if must <= chosen and not must_not & chosen and any(one <= chosen for one in explanations)
    ]
    return all(sum(costs[f] for f in chosen) >= Fraction(asked["bound"]) for chosen in every)


def mutants_of(value: Any) -> list[Any]:
    """Return other values of the same kind, and of others."""
    if isinstance(value, bool) or value is None:
        return [not value]
    if isinstance(value, int | float):
        others = [value + 1, value - 1, -value, 2 * value, value / 2, 0, 1, 10**6, None, "1/2"]
        return [other for other in others if other != value]
    return [value[::-1], "", "1/2", "1/4096", 1, 0]


def mutants(data: Any) -> Iterator[Any]:
    """Yield certificates with one number, or one part of the tree, of the bound changed."""
    for path, value in numbers_in(data):
        if path[0] == "minimum" or path[:2] == ("claim", "minimum"):
            for mutant in mutants_of(value):
                yield changed(data, path, mutant)
    yield from _other_trees(data, data["minimum"]["tree"], ("minimum", "tree"))


def _other_trees(data: Any, node: Any, path: tuple[Any, ...]) -> Iterator[Any]:
    for side, other in (("below", "above"), ("above", "below")):
        if side in node:
            yield changed(data, path, node[side])  # a case is dropped
            yield changed(data, (*path, side), node[other])
            yield from _other_trees(data, node[side], (*path, side))
    for name in ("weights", "slopes", "multipliers"):
        if name in node:
            yield changed(data, (*path, name), {})


@pytest.mark.parametrize("seed", WIDE[:4])
@pytest.mark.parametrize("with_costs", [False, True])
def test_no_changed_number_makes_a_false_bound_accepted(
    seed: int, with_costs: bool, tmp_path: Path
) -> None:
    problem, (explanations, _) = wide_case(seed), wide_truth(seed)
    wishes = {"costs": [1 + f % 3 for f in range(8)], "must": [1]} if with_costs else {}
    _, model, data = certified(problem, tmp_path, **wishes)
    assert checked(model, json.dumps(data))
    # so that the trees of margins are not checked again for each
    claim = Claim(model, data["claim"])
    refused = 0
    for mutant in mutants(data):
        asked = mutant["claim"]["minimum"]
        if accepts(claim, asked, mutant["minimum"]):
            assert true_bound(explanations, asked, 8)
        else:
            refused += 1
    assert refused > 30


def accepts(claim: Claim, asked: Any, proof: Any) -> bool:
    """Return whether the checker accepts the proof of a lower bound."""
    read = json.loads(json.dumps([asked, proof]), parse_float=Fraction)
    try:
        bounded(claim, *read)
    except Exception:
        return False
    return True


@pytest.mark.parametrize("seed", WIDE[:3])
def test_hostile_numbers_prove_no_false_bound(seed: int, tmp_path: Path) -> None:
    problem = wide_case(seed)
    _, model, data = certified(problem, tmp_path)
    claim = Claim(model, data["claim"])
    asked = {"bound": data["claim"]["minimum"]["bound"] + 1}
    rng = np.random.default_rng(seed)
    copies, margins = len(data["minimum"]["scenarios"]), len(claim.margins)
    sizes = copies * len(claim.net.rows), copies * margins
    for _ in range(200):
        tree = hostile(rng, sizes, (), ())
        assert not accepts(claim, asked, {**data["minimum"], "tree": tree})


def hostile(
    rng: np.random.Generator, sizes: tuple[int, int], signs: Sequence[int], inputs: Sequence[int]
) -> Any:
    """Return a random tree over neurons and features with random leaves."""
    if len(signs) + len(inputs) < 4 and rng.random() < 0.8:
        if rng.random() < 0.5:
            v = int(rng.integers(8))
            halves = [hostile(rng, sizes, signs, [*inputs, v]) for _ in range(2)]
            at = rng.choice(["1/2", "0", "1", "3/2", "-1/2"])
            return {"input": v, "at": str(at), "below": halves[0], "above": halves[1]}
        v = int(rng.integers(sizes[0]))
        halves = [hostile(rng, sizes, [*signs, v], inputs) for _ in range(2)]
        return {"neuron": v, "below": halves[0], "above": halves[1]}
    return {
        "weights": {str(rng.integers(sizes[1])): int(rng.integers(1000)) for _ in range(3)},
        "slopes": {str(i): round(rng.uniform(0, 1), 3) for i in range(sizes[0])},
        "multipliers": {str(i): round(rng.uniform(0, 1000), 3) for i in signs},
    }
