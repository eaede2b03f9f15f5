"""Orders: the sensitivity of the paper, worked out one feature at a time, and the others."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier

from milp_verix import Problem
from milp_verix.base.errors import InputError
from milp_verix.searches.order import influence, sensitivity
from tests.support.counterfactual_checks import run
from tests.support.orders import make_order
from tests.support.random_networks import as_layers, convolutional, dense_network, random_layers

# three classes; the second is the highest near the middle of the cube
LAYERS = as_layers(([[1, -2, 0.5, 0, 3, 1], [0.25] * 6, [0, 1, 0, -1, 0, 0]], [-9, 4, 0]))


def posed(folder: Path, x: NDArray[Any] | None = None, **options: Any) -> Problem:
    given = np.array([0.1, 0.9, 0.5, 0.3, 0.0, 1.0], np.float32) if x is None else x
    return Problem(dense_network(LAYERS, folder), given, **{"epsilon": 0.1, **options})


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("delta", [None, 0.2])
def test_sensitivity_is_what_the_prediction_loses(
    seed: int, delta: float | None, tmp_path: Path
) -> None:
    rng = np.random.default_rng(seed)
    network = dense_network(random_layers(rng, (6, 5, 3)), tmp_path)
    x = rng.uniform(size=6).astype(np.float32)
    groups = [[0, 4], [1], [5, 2, 3]]
    problem = Problem(network, x, epsilon=0.1, delta=delta, features=groups)
    before = run(network, x).astype(float)
    label = int(np.argmax(before))
    for transformation in ("reversal", "deletion"):
        expected = []
        for group in groups:
            changed = x.copy()
            changed[group] = 1 - x[group] if transformation == "reversal" else 0
            lost = before - run(network, changed)
            expected.append(lost[label] if delta is None else max(abs(lost)))
        assert sensitivity(problem, transformation).tolist() == expected
        order = make_order(problem, "sensitivity", transformation=transformation)
        assert order.permutation == tuple(np.argsort(expected).tolist())
        assert order.sensitivity is not None
        assert order.sensitivity.tolist() == expected
        assert order.name == "sensitivity"


def test_least_sensitive_first_by_hand(tmp_path: Path) -> None:
    # the class 1 has the score ¼ Σ x + 4, so a feature loses ¼ (x − x')
    problem = posed(tmp_path)
    x = problem.x
    assert problem.question.prediction == 1
    np.testing.assert_allclose(sensitivity(problem), (2 * x - 1) / 4, atol=1e-6)
    np.testing.assert_allclose(sensitivity(problem, "deletion"), x / 4, atol=1e-6)
    assert make_order(problem, "sensitivity").permutation == (4, 0, 3, 2, 1, 5)


def test_the_default_is_reversal(tmp_path: Path) -> None:
    problem = posed(tmp_path)
    assert (
        make_order(problem, "sensitivity").permutation
        == make_order(problem, "sensitivity", transformation="reversal").permutation
    )
    assert sensitivity(problem).tolist() == sensitivity(problem, "reversal").tolist()


def test_reversal_mirrors_in_the_domain(tmp_path: Path) -> None:
    low, high = np.full(6, -1.0), np.array([1.0, 1, 1, 3, 3, 3])
    problem = posed(tmp_path, domain=(low[None], high[None]))
    x = problem.x
    np.testing.assert_allclose(sensitivity(problem), (2 * x - low - high) / 4, atol=1e-6)


def test_deletion_stays_in_the_domain(tmp_path: Path) -> None:
    x = np.array([0.5, 0.5, 0.75, 0.75, 1, 1])
    problem = posed(tmp_path, x, domain=(0.5, np.inf))
    np.testing.assert_allclose(sensitivity(problem, "deletion"), (x - 0.5) / 4, atol=1e-6)


@pytest.mark.parametrize("domain", [(0.0, np.inf), (-np.inf, 1.0)])
def test_reversal_needs_a_domain_with_both_ends(
    domain: tuple[float, float], tmp_path: Path
) -> None:
    problem = posed(tmp_path, domain=domain)
    with pytest.raises(InputError, match=r"'reversal' needs a finite domain.*or use 'deletion'"):
        make_order(problem, "sensitivity")
    assert make_order(problem, "random").name == "random"


def test_ties_keep_their_order(tmp_path: Path) -> None:
    # forty features in two kinds: a sort that is not stable would mix them
    weight = np.tile([1.0, 2.0], 20)
    network = dense_network(as_layers(([weight, -weight], [0, 0])), tmp_path)
    problem = Problem(network, np.ones(40), epsilon=0.1)
    scores = sensitivity(problem)
    assert np.unique(scores).size == 2
    assert make_order(problem, "sensitivity").permutation == (*range(0, 40, 2), *range(1, 40, 2))


def test_sensitivity_leaves_the_input_as_it_was(tmp_path: Path) -> None:
    x = np.full(6, 0.25, np.float32)
    problem = posed(tmp_path, x)
    make_order(problem)
    assert problem.x.tolist() == x.tolist() == [0.25] * 6


def test_sensitivity_of_a_pixel_moves_it_alone(tmp_path: Path) -> None:
    network = convolutional(tmp_path)
    x = np.random.default_rng(0).uniform(size=(4, 4)).astype(np.float32)
    problem = Problem(network, x, epsilon=0.1, features="pixels")
    scores = sensitivity(problem)
    before = run(network, x)
    label = int(np.argmax(before))
    changed = x.copy()
    changed[2, 1] = 1 - changed[2, 1]
    assert scores[2 * 4 + 1] == float(before[label]) - float(run(network, changed)[label])


def test_sequential_is_as_numbered(tmp_path: Path) -> None:
    order = make_order(posed(tmp_path), "sequential")
    assert (order.name, order.permutation, order.sensitivity) == (
        "sequential",
        (0, 1, 2, 3, 4, 5),
        None,
    )


def test_random_depends_on_the_seed_and_nothing_else(tmp_path: Path) -> None:
    problem = posed(tmp_path)
    drawn = [make_order(problem, "random", seed=seed).permutation for seed in range(20)]
    again = [make_order(problem, "random", seed=seed).permutation for seed in range(20)]
    assert drawn == again
    assert len(set(drawn)) > 15
    assert all(sorted(permutation) == list(range(6)) for permutation in drawn)


@pytest.mark.parametrize("given", [[5, 3, 1, 0, 2, 4], (5, 3, 1, 0, 2, 4)])
@pytest.mark.parametrize("kind", [list, tuple, np.array])
def test_a_custom_order_is_taken_as_given(given: Any, kind: Any, tmp_path: Path) -> None:
    order = make_order(posed(tmp_path), kind(given))
    assert (order.name, order.permutation) == ("custom", (5, 3, 1, 0, 2, 4))


@pytest.mark.parametrize(
    "given",
    [
        [0, 1, 2, 3, 4],
        [0, 1, 2, 3, 4, 4],
        [0, 1, 2, 3, 4, 6],
        [1, 2, 3, 4, 5, 6],
        [-1, 0, 1, 2, 3, 4],
        [0, 1, 2, 3, 4, 5, 5],
        [0.0, 1, 2, 3, 4, 5],
        [],
        3,
        [[0, 1], [2], [3, 4, 5]],
    ],
)
def test_a_custom_order_that_is_no_permutation_is_refused(given: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"each of the 6 features 0\.\.5 exactly once"):
        make_order(posed(tmp_path), given)


def test_unknown_names_are_refused_with_the_known_ones(tmp_path: Path) -> None:
    problem = posed(tmp_path)
    with pytest.raises(InputError, match="'backwards'; choose one of auto, influence"):
        make_order(problem, "backwards")
    with pytest.raises(InputError, match="'mirror'; choose one of reversal, deletion"):
        make_order(problem, "sensitivity", transformation="mirror")


def test_influence_on_trees_is_the_same_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    table = np.random.default_rng(0).random((80, 7))
    fitted = ExtraTreesClassifier(9, random_state=0).fit(table, table[:, 0] > table[:, 1])
    problem = Problem(fitted, table[0], epsilon=0.4, features=[[0, 4], [1], [5, 2, 3], [6]])
    whole = influence(problem)
    monkeypatch.setattr("milp_verix.searches.order._BOXES", 14)  # two features at once
    assert np.array_equal(influence(problem), whole)
    assert np.unique(whole).size > 2
