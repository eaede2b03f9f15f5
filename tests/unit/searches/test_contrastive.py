"""The smallest contrastive explanation is that of brute force, and its counterfactual is real."""

import json
import pickle
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from milp_verix import ContrastiveExplanation, ContrastiveProgress, InputError, contrastive
from milp_verix.base.clock import NO_LIMIT, Deadline
from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.verdict import Answer, Verdict
from milp_verix.searches import contrast_search as contrast_search_module, set_search
from milp_verix.solvers import SOLVERS
from tests.support.brute_force_cases import case
from tests.support.command_line import run_here
from tests.support.counterfactual_checks import assert_real
from tests.support.digits_example import IMAGES, MODEL, images, network
from tests.support.exhaustive_explanations import CASES, L1_SEEDS, ORDERS, SEEDS, posed, truth
from tests.support.fake_session import FakeSolver
from tests.support.installed_solvers import SLOW
from tests.support.interrupts import interrupt
from tests.support.onnx_models import DOUBLE
from tests.support.published_data import shared_file
from tests.support.random_networks import as_layers, dense_network

NORMS = ("linf", "l1", "l2")


def costs_of(seed: int, count: int) -> np.ndarray | None:
    """Return costs of one kind after the other: none, whole numbers, others."""
    rng = np.random.default_rng(seed)
    return [None, rng.integers(1, 5, count), rng.uniform(0.5, 3.0, count)][seed % 3]


def assert_in_norm(found: ContrastiveExplanation, seed: int, tmp_path: Path) -> None:
    """Assert that the counterfactual is one, by the definition, in the ball of its norm."""
    problem = case(seed)
    witness = assert_real(found, problem, problem.network(tmp_path))
    if found.norm != "linf":
        moved = witness.reshape(-1).astype(np.float64) - problem.x
        assert np.linalg.norm(moved, ORDERS[found.norm]) <= found.epsilon * (1 + 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("norm", "seed"), CASES)
def test_the_cheapest_contrast_is_that_of_brute_force(norm: str, seed: int, tmp_path: Path) -> None:
    problem, (_, contrasts) = case(seed), truth(seed, norm)
    costs = costs_of(seed, len(problem.groups))
    options = {**posed(problem, norm), "costs": costs}
    found = contrastive(problem.network(tmp_path), problem.x, **options)
    assert found.proven
    assert found.unknown_reason is None
    assert found.robust == (not contrasts)
    if not contrasts:
        assert (found.contrast, found.counterfactual, found.lower_bound) == (None, None, None)
        return
    prices = np.ones(len(problem.groups)) if costs is None else costs
    cheapest = min(sum(prices[list(contrast)]) for contrast in contrasts)
    assert found.cost == pytest.approx(cheapest, rel=1e-5)
    assert_in_norm(found, seed, tmp_path)


@pytest.mark.parametrize("unit", [1e-9, 0.1, 0.7, 1e9])
def test_equal_costs_are_sizes(unit: float) -> None:
    # sums of ten costs of 0.7 differ by the order of the terms
    seen: list[ContrastiveProgress] = []
    found = contrastive(
        network(), images()[4], epsilon=0.2, costs=np.full((8, 8), unit), progress=seen.append
    )
    assert (found.size, found.proven) == (10, True)
    assert found.lower_bound == found.cost == pytest.approx(10 * unit)
    assert all(state.lower_bound <= 10 * unit * (1 + 1e-9) for state in seen)


@pytest.mark.parametrize("unit", [1e-9, 1e9])
@pytest.mark.parametrize("seed", SEEDS[::6])
def test_costs_of_any_magnitude(seed: int, unit: float, tmp_path: Path) -> None:
    problem, (_, contrasts) = case(seed), truth(seed)
    costs = np.random.default_rng(seed).uniform(0.5, 1.0, len(problem.groups)) * unit
    found = contrastive(problem.network(tmp_path), problem.x, **problem.options, costs=costs)
    assert found.proven
    if contrasts:
        cheapest = min(sum(costs[list(contrast)]) for contrast in contrasts)
        assert found.cost == pytest.approx(cheapest, rel=1e-5, abs=0)


@pytest.mark.nightly
def test_there_is_something_to_find() -> None:
    sizes = [min(map(len, truth(seed)[1]), default=0) for seed in SEEDS]
    assert sizes.count(0) > 5
    assert sum(size > 1 for size in sizes) > 10


@pytest.mark.nightly
@pytest.mark.parametrize("solver", SOLVERS)
def test_solvers_agree(solver: str, tmp_path: Path) -> None:
    if reason := SOLVERS[solver].unavailable():
        pytest.skip(reason)
    for seed in L1_SEEDS[: 1 if solver in SLOW else 4]:
        for norm in NORMS:
            problem, (_, contrasts) = case(seed), truth(seed, norm)
            options = {**posed(problem, norm), "solver": solver}
            found = contrastive(problem.network(tmp_path), problem.x, **options)
            assert found.proven
            assert found.size == min(map(len, contrasts), default=None)


@pytest.mark.parametrize("seed", SEEDS)
def test_unknown_checks_leave_sound_answers(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem, (_, contrasts) = case(seed), truth(seed)
    rng = np.random.default_rng(seed)

    class Doubtful(Oracle):
        def check(self, free: np.ndarray, deadline: Deadline = NO_LIMIT) -> Verdict:
            if rng.random() < 0.7:
                return Verdict(Answer.UNKNOWN, reason="doubt")
            return super().check(free, deadline)

    monkeypatch.setattr(set_search, "Oracle", Doubtful)
    monkeypatch.setattr(contrast_search_module, "Oracle", Doubtful)
    found = contrastive(problem.network(tmp_path), problem.x, **problem.options)
    assert not (found.robust and contrasts)
    if found.lower_bound is not None and contrasts:
        assert found.lower_bound <= min(map(len, contrasts))
    if found.contrast is not None:
        assert any(contrast <= set(found.contrast) for contrast in contrasts)
        assert_in_norm(found, seed, tmp_path)
    if found.proven and contrasts:
        assert found.size == min(map(len, contrasts))


def test_a_broken_solver_proves_nothing(broken_solver: FakeSolver, tmp_path: Path) -> None:
    undecided = 0
    for seed in L1_SEEDS:
        problem, (_, contrasts) = case(seed), truth(seed, "l1")
        found = contrastive(problem.network(tmp_path), problem.x, **posed(problem, "l1"))
        assert found.robust == (not contrasts)  # the check of everything is not the session's
        if contrasts:
            assert found.lower_bound is not None
            assert found.lower_bound <= min(map(len, contrasts))
            undecided += not found.proven
    assert undecided > 1
    assert all(session.closed for session in broken_solver.opened)


def test_a_margin_within_the_tolerance_is_no_answer(tmp_path: Path) -> None:
    # the margin x0 + 2 x1 − 1 reaches 0 at (½, ¼), and nowhere a hair more
    layers = as_layers(([[1, 2]], [0]), ([[0], [1]], [1, 0]))
    net = dense_network(layers, tmp_path)
    options = {"domain": ([-1.0, -1.0], [0.5, 0.25])}
    found = contrastive(net, np.zeros(2), epsilon=0.5, **options)
    assert (found.contrast, found.robust, found.proven) == (None, False, False)
    assert found.unknown_reason is not None
    assert "tolerance" in found.unknown_reason
    assert contrastive(net, np.zeros(2), epsilon=0.49, **options).robust
    wider = {"domain": ([-1.0, -1.0], [0.5, 0.2501])}
    assert contrastive(net, np.zeros(2), epsilon=0.5, **wider).contrast == (0, 1)


def test_a_margin_near_zero_is_in_doubt_beside_one_that_programs_rule_out(tmp_path: Path) -> None:
    # class 0 draws level with class 2 at the ball's end; class 1 is max(t, 0) − t/2 − |t|/2 − 1/20,
    # with t = x₁ − ½: that is −1/20 everywhere, but may be more than 0 for all that bounds know
    first = ([[1, 0], [0, 1], [0, -1], [0, 1]], [0, -0.5, 0.5, 0])
    second = ([[1, 0, 0, 0], [0, 0.5, -0.5, -0.5], [0, 0, 0, 0]], [-0.75, 0.2, 0])
    network = dense_network(as_layers(first, second), tmp_path, DOUBLE)
    found = contrastive(network, np.full(2, 0.5), epsilon=0.25)
    assert (found.contrast, found.robust, found.proven) == (None, False, False)
    assert found.unknown_reason is not None
    assert contrastive(network, np.full(2, 0.5), epsilon=0.24).robust


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.1, 0.2])
def test_digits(epsilon: float) -> None:
    for index in (0, 4, 8, 15):
        seen: list[ContrastiveProgress] = []
        found = contrastive(network(), images()[index], epsilon=epsilon, progress=seen.append)
        assert found.proven
        bounds = [state.lower_bound for state in seen]
        assert all(before <= after for before, after in pairwise(bounds))
        if found.robust:
            assert (index, epsilon) == (8, 0.1)
            continue
        assert found.replay(network())
        assert all(state.lower_bound <= found.size <= state.cost for state in seen)


def test_a_published_network_is_solved_to_proof() -> None:
    model = shared_file("models/mnist-10x2.onnx")
    with np.load(shared_file("data/mnist_test.npz")) as data:
        image = data["images"][0].astype(np.float32) / 255
    found = contrastive(model, image[..., None], epsilon=0.05, time_limit=60)
    assert (found.proven, found.size) == (True, 85)


def test_limits_and_interrupts_leave_a_contrast_and_a_bound() -> None:
    found = contrastive(network(), images()[4], epsilon=0.2, progress=interrupt)
    assert found.statistics.stopped == "interrupted"
    assert found.lower_bound is not None
    assert found.size is not None
    assert found.lower_bound <= 10 <= found.size
    assert found.replay(network())
    late = contrastive(network(), images()[4], epsilon=0.2, time_limit=1e-6)
    assert late.statistics.stopped == "time limit"
    assert not late.proven


@pytest.mark.slow
def test_json_and_pickles_hold_everything(tmp_path: Path) -> None:
    for index, epsilon in ((4, 0.2), (8, 0.1)):
        found = contrastive(network(), images()[index], epsilon=epsilon)
        again = ContrastiveExplanation.from_json(found.to_json(tmp_path / "out.json"))
        assert again.to_json() == found.to_json()
        assert pickle.loads(pickle.dumps(found)).to_json() == found.to_json()
        assert found.plot(tmp_path / "out.png").get_figwidth() > 5
        assert "proven" in found._repr_html_()
    other = json.loads(contrastive(network(), images()[4], epsilon=0.2).to_json())
    for name, value in (("contrast", [0]), ("lower_bound", 60.0), ("kind", "other")):
        with pytest.raises(InputError, match="not a contrastive explanation"):
            ContrastiveExplanation.from_json(json.dumps({**other, name: value}))


@pytest.mark.parametrize("costs", [[1.0], [0.0] * 64, [np.nan] * 64, "cheap"])
def test_costs_that_are_none(costs: object) -> None:
    with pytest.raises(InputError, match="costs"):
        contrastive(network(), images()[0], epsilon=0.1, costs=costs)


def test_the_command_line_says_what_is_proven(tmp_path: Path) -> None:
    out, picture = tmp_path / "out.json", tmp_path / "out.png"
    seven = f"{IMAGES}:images[15]"
    files = ("--json", out, "--plot", picture)
    done = run_here("contrastive", MODEL, seven, "--epsilon", 0.1, *files)
    assert (done.returncode, done.stderr) == (0, "")
    told = "proven: no change of fewer features in the ball changes the prediction"
    assert told in " ".join(done.stdout.split())
    assert ContrastiveExplanation.from_json(out).contrast == (27,)
    assert picture.stat().st_size > 10_000
    hasty = run_here(
        "contrastive", MODEL, f"{IMAGES}:images[4]", "--epsilon", 0.2, "--time-limit", 1e-6
    )
    assert hasty.returncode == 3
    assert run_here("contrastive", MODEL, seven, "--epsilon", 0.1, "--costs", "x").returncode == 2
