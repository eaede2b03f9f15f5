"""Whole numbers, categories and rules: every answer is that of listing all points."""

from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import milp_verix
from milp_verix import Inputs, Problem, category, continuous, integer
from milp_verix.base.errors import InputError
from milp_verix.models.onnx.onnx_network import OnnxNetwork
from milp_verix.oracle.oracle import Oracle
from milp_verix.problem.search import Search
from milp_verix.solvers import OWN_ENGINES, SOLVERS
from tests.support.installed_solvers import SLOW, needs, why_not
from tests.support.mixed_domains import MixedCase, mixed_case
from tests.support.random_networks import as_layers, dense_network, random_layers

_RULES = pytest.mark.parametrize("rules", [False, True], ids=["free", "rules"])
_CASES = [
    pytest.param(name, seed, marks=needs(name))
    for name in SOLVERS
    if name != "beta"
    for seed in (range(2) if name in SLOW else range(6))
]


def _options(case: MixedCase, solver: str) -> dict[str, object]:
    return {"epsilon": case.epsilon, "inputs": case.inputs, "solver": solver}


def _in_the_domain(case: MixedCase, network: OnnxNetwork, witness: np.ndarray) -> bool:
    """Return whether ``witness`` is one of the points listed, and changes the prediction."""
    points = [case.placed(point) for point in case.points(range(len(case.features)))]
    listed = any(np.array_equal(witness.reshape(-1), point) for point in points)
    label = int(np.argmax(network.evaluate(case.point)))
    return listed and int(np.argmax(network.evaluate(witness))) != label


@pytest.mark.slow
@_RULES
@pytest.mark.parametrize(("solver", "seed"), _CASES)
def test_checks_answer_as_enumeration(solver: str, seed: int, rules: bool, tmp_path: Path) -> None:
    case = mixed_case(seed, rules=rules)
    network, options = case.network(tmp_path), _options(case, solver)
    every = range(len(case.features))
    sets = [free for k in every for free in combinations(every, k + 1)]
    for free in sets[:: 5 if solver in SLOW else 1]:
        verdict = milp_verix.check(network, case.point, free, **options)
        assert verdict.holds == case.holds(free)
        assert verdict.violated != verdict.holds
        if verdict.witness is not None:
            assert _in_the_domain(case, network, verdict.witness)


@pytest.mark.slow
def test_every_question_is_answered_as_by_enumeration(mixed_seed: int, tmp_path: Path) -> None:
    """Each solver in turn; ``--seeds 300`` asks about more and larger domains."""
    names = ["split", *(name for name in SOLVERS if why_not(name) is None)]
    turn, place = divmod(mixed_seed, len(names))
    solver, large, rules = names[place], turn > 1, (turn + place) % 2 == 1
    size: dict[str, Any] = {"most": 8, "widest": 21, "clear": 2e-5} if large else {}
    case = mixed_case(1000 + mixed_seed, rules=rules, **size)
    network, options = case.network(tmp_path), _options(case, solver)
    rng, count = np.random.default_rng(mixed_seed), len(case.features)
    order = rng.permutation(count).tolist()
    free = order[: int(rng.integers(1, count + 1))]
    assert milp_verix.check(network, case.point, free, **options).holds == case.holds(free)
    explained = milp_verix.explain(network, case.point, order=order, **options)
    assert (explained.minimal, explained.explanation) == (True, case.explanation(order))
    for counterfactual in explained.counterfactuals.values():
        assert _in_the_domain(case, network, counterfactual.input)
    stored = milp_verix.Explanation.from_json(explained.to_json())
    assert (stored.replay(network), stored.inputs) == ((), case.inputs)
    least = milp_verix.minimum(network, case.point, **options)
    assert (least.proven, least.size) == (True, case.least_explanation())
    assert case.holds(least.irrelevant)
    assert "hitting sets" in " ".join(least.notes)
    listed = milp_verix.enumerate_explanations(network, case.point, **options)
    found, truth = ({*listed.abductive}, {*listed.contrastive}), tuple(map(set, case.minimal()))
    if solver == "pulp" and not listed.complete:
        # PuLP's own CBC ends without an answer on some programs of sets
        assert listed.unknown_reason is not None
        assert all(some <= every for some, every in zip(found, truth, strict=True))
    else:
        assert (listed.complete, found) == (True, truth)
    held = sorted(rng.permutation(count)[: rng.integers(0, count)].tolist())
    costs = [None, rng.integers(1, 5, count), rng.uniform(0.5, 3.0, count)][mixed_seed % 3]
    for kept in ([], held):
        _assert_least_contrasts(case, network, kept, costs, options)


def _assert_least_contrasts(
    case: MixedCase,
    network: OnnxNetwork,
    held: list[int],
    costs: np.ndarray | None,
    options: dict[str, object],
) -> None:
    """Assert that contrasts that keep ``held`` are as small and as near as those listed."""
    prices = np.ones(len(case.features)) if costs is None else costs
    expected = {
        "features": case.least_contrast(held, prices.tolist()),
        "distance": case.nearest(prices.tolist(), held),
    }
    names = [case.features[i].name for i in held]
    for minimise, least in expected.items():
        given: dict[str, Any] = {"costs": costs, "must_not": names, "minimise": minimise, **options}
        found = milp_verix.contrastive(network, case.point, **given)
        assert found.proven
        assert found.robust == (least is None)
        if least is None or found.cost is None or found.counterfactual is None:
            continue
        assert found.lower_bound is not None
        assert found.lower_bound <= least * (1 + 1e-9)
        assert least * (1 - 1e-9) <= found.cost <= least * (1 + 1e-3)
        assert not {*held} & {*(found.contrast or ())}
        assert _in_the_domain(case, network, found.counterfactual.input)
        assert found.replay(network)


@_RULES
@pytest.mark.parametrize("seed", range(20, 32))
def test_all_minimal_sets_are_those_of_enumeration(seed: int, rules: bool, tmp_path: Path) -> None:
    case = mixed_case(seed, rules=rules)
    network = case.network(tmp_path)
    found = milp_verix.enumerate_explanations(network, case.point, **_options(case, "auto"))
    assert found.complete
    assert (sorted(found.abductive), sorted(found.contrastive)) == case.minimal()
    assert found.replay(network) == ()


@pytest.mark.slow
@_RULES
@pytest.mark.parametrize("exactness", ["relaxation", "bounds"])
def test_bounds_over_the_hull_never_free_too_much(
    exactness: str, rules: bool, tmp_path: Path
) -> None:
    for seed in range(12):
        case = mixed_case(seed, rules=rules)
        options = {"epsilon": case.epsilon, "inputs": case.inputs, "exactness": exactness}
        found = milp_verix.explain(case.network(tmp_path), case.point, **options)
        assert case.holds(found.irrelevant)


@pytest.mark.slow
@pytest.mark.parametrize("rules", [False, True])
def test_reuse_changes_no_explanation(rules: bool, tmp_path: Path) -> None:
    for seed in range(40, 46):
        case = mixed_case(seed, rules=rules)
        network, options = case.network(tmp_path), _options(case, "auto")
        order = list(range(len(case.features)))
        for reuse in (True, False):
            found = milp_verix.explain(network, case.point, order=order, reuse=reuse, **options)
            assert found.explanation == case.explanation(order)


def test_an_engine_of_phases_alone_is_refused(tmp_path: Path) -> None:
    assert "beta" in OWN_ENGINES
    case = mixed_case(0, rules=False)
    with pytest.raises(InputError, match="whole numbers"):
        milp_verix.check(case.network(tmp_path), case.point, [0], **_options(case, "beta"))


def test_scenarios_are_refused_by_name(tmp_path: Path) -> None:
    case = mixed_case(0, rules=True)
    with pytest.raises(InputError, match="scenarios"):
        milp_verix.minimum(
            case.network(tmp_path), case.point, master="tree", **_options(case, "auto")
        )


def test_a_comparison_asks_about_the_described_input(tmp_path: Path) -> None:
    case = mixed_case(1, rules=True)
    found = milp_verix.compare(
        case.network(tmp_path),
        case.point,
        epsilon=case.epsilon,
        inputs=case.inputs,
        order="sequential",
        solvers=["highs", "phase", "split"],
        task="explain",
    )
    sets = {run.explanation.explanation for run in found.runs if run.explanation is not None}
    assert sets == {case.explanation(range(len(case.features)))}
    assert not found.disagreements


@pytest.mark.nightly
@_RULES
@pytest.mark.parametrize("seed", range(50, 54))
def test_audits_judge_as_enumeration(seed: int, rules: bool, tmp_path: Path) -> None:
    case = mixed_case(seed, rules=rules)
    network, every = case.network(tmp_path), range(len(case.features))
    for size in range(len(case.features) + 1):
        audited = tuple(np.random.default_rng([seed, size]).permutation(every)[:size].tolist())
        found = milp_verix.audit(
            network, case.point, audited, minimum=True, **_options(case, "auto")
        )
        assert found.sound == case.holds([*{*every} - {*audited}])
        assert case.holds([*{*every} - {*found.sound_set}])
        assert found.minimum is not None
        assert len(found.minimum.explanation) == case.least_explanation()


def test_programs_of_checks_have_whole_numbers_and_rules(tmp_path: Path) -> None:
    case = mixed_case(2, rules=True)
    every = range(len(case.features))
    encoding = milp_verix.encode_check(
        case.network(tmp_path), case.point, epsilon=case.epsilon, inputs=case.inputs
    )
    session = milp_verix.solvers.open_session("highs")
    session.load(encoding.program)
    worst = -np.inf
    for margin in range(encoding.output.constant.size):
        row, constant = encoding.output.row(margin, encoding.program.columns)
        result = session.minimise(-row, milp_verix.solvers.Targets())
        worst = max(worst, constant - result.bound)
    session.close()
    assert worst == pytest.approx(float(case.margins(case.points(every)).max()), abs=1e-5)


@pytest.mark.nightly
@_RULES
@pytest.mark.parametrize("solver", [pytest.param(s, marks=needs(s)) for s in ("highs", "split")])
def test_real_numbers_beside_whole_ones_agree_with_sampling(
    solver: str, rules: bool, tmp_path: Path
) -> None:
    rng = np.random.default_rng(3)
    features = [integer("n", 0, 4), continuous("u", 0, 4), category("c", ["x", "y", "z"])]
    rule = ["u <= n + 0.5", "(c == 'z').implies(u >= 0.75)"] if rules else []
    grid = np.array(list(product(range(5), np.linspace(0, 4, 801), range(3))))
    if rules:
        n, u, c = grid.T
        grid = grid[(u <= n + 0.5) & ((c != 2) | (u >= 0.75))]
    decided = 0
    for _ in range(12):
        layers = random_layers(rng, (3, 6, 5, 2))
        scaled = ((layers[0][0] / 3, layers[0][1]), *layers[1:])
        network = dense_network(scaled, tmp_path)
        x = grid[rng.integers(len(grid))].astype(np.float32)
        label = int(np.argmax(network.evaluate(x)))
        for free in ([0], [1], [0, 1], [1, 2], [0, 1, 2]):
            verdict = milp_verix.check(
                network, x, free, epsilon=np.inf, inputs=Inputs(features, rule), solver=solver
            )
            fixed = [i for i in range(3) if i not in free]
            points = grid[np.all(grid[:, fixed] == x[fixed], axis=1)]
            other = [int(np.argmax(network.evaluate(p.astype(np.float32)))) for p in points[::7]]
            changes = any(one != label for one in other)
            assert not (verdict.holds and changes)
            decided += verdict.holds or verdict.violated
            if verdict.witness is not None:
                m, v, k = verdict.witness.reshape(-1).astype(float)
                assert m in range(5)
                assert k in range(3)
                assert 0 <= v <= 4
                assert not rules or v <= m + 0.5
                assert not rules or k != 2 or v >= 0.75
    assert decided >= 55


@pytest.mark.parametrize("solver", [pytest.param(s, marks=needs(s)) for s in ("highs", "split")])
def test_bounds_of_a_smaller_set_do_not_grow_across_a_rule(solver: str, tmp_path: Path) -> None:
    # alone, a cannot leave 0; together with b it can, and the margin is then above zero
    hidden = ([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]], [0.0, 0.0, 0.0])
    network = dense_network(
        as_layers(hidden, ([[0.0] * 3, [0.5, 0.4, 0.01]], [0.0, -1.0])), tmp_path
    )
    inputs = Inputs([integer("a", -3, 3), integer("b", 0, 30)], ["a == -b"])
    problem = Problem(network, np.zeros(2), epsilon=np.inf, inputs=inputs)
    with Oracle(problem, Search(solver=solver)) as oracle:
        assert oracle.check(np.array([0])).holds
        verdict = oracle.check(np.array([0, 1]))
    assert verdict.violated
    assert verdict.witness is not None
    assert verdict.witness.tolist() == [[-3.0, 3.0]]
