"""Questions against some classes have the answers of a network without the other classes."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import milp_verix
from milp_verix import Answer, Explanation, InputError, OnnxNetwork
from tests.support.brute_force import BruteForce
from tests.support.command_line import run_here
from tests.support.exhaustive_explanations import minimal_sets
from tests.support.random_networks import dense_network, random_layers

SIZES = (3, 4, 4)
X = np.array([0.5, 0.375, 0.625], dtype=np.float32)
EPSILON = 0.3


def asked(seed: int, folder: Path) -> tuple[OnnxNetwork, int, tuple[int, ...], BruteForce]:
    """Return a network, its prediction, some rivals, and the truth about these alone."""
    rng = np.random.default_rng(seed)
    layers = random_layers(rng, SIZES)
    network = dense_network(layers, folder)
    label = int(np.argmax(network.evaluate(X)))
    others = [rival for rival in range(SIZES[-1]) if rival != label]
    rivals = tuple(sorted(rng.choice(others, rng.integers(1, 3), replace=False).tolist()))
    matrix, bias = layers[-1]
    kept = [label, *rivals]
    reduced = (*layers[:-1], (matrix[kept], bias[kept]))
    x = X.astype(np.float64)
    brute = BruteForce(reduced, x, EPSILON, [[0], [1], [2]], np.zeros(3), np.ones(3))
    return network, label, rivals, brute


@pytest.mark.parametrize("seed", range(40))
def test_answers_are_those_without_the_other_classes(seed: int, tmp_path: Path) -> None:
    network, label, rivals, brute = asked(seed, tmp_path)
    for size in range(4):
        for free in combinations(range(3), size):
            found = milp_verix.check(network, X, free, epsilon=EPSILON, against=rivals)
            assert (found.answer is Answer.HOLDS) == brute.holds(free)
            if found.prediction is not None:
                assert found.rival in rivals
                assert found.prediction == int(np.argmax(network.evaluate(found.witness)))
    abductive, contrastive = minimal_sets(3, brute.holds)
    explained = milp_verix.explain(network, X, epsilon=EPSILON, against=rivals)
    assert frozenset(explained.explanation) in abductive
    assert explained.replay(network) == ()
    for point in explained.counterfactuals.values():
        assert point.rival in rivals
        assert point.prediction == int(np.argmax(network.evaluate(point.input)))
    least = milp_verix.minimum(network, X, epsilon=EPSILON, against=rivals)
    assert least.size == min(map(len, abductive))
    contrast = milp_verix.contrastive(network, X, epsilon=EPSILON, against=rivals)
    assert contrast.robust == (not contrastive)
    if contrastive:
        assert contrast.size == min(map(len, contrastive))
    listed = milp_verix.enumerate_explanations(network, X, epsilon=EPSILON, against=rivals)
    assert {frozenset(found) for found in listed.abductive} == abductive
    assert label == explained.prediction


@pytest.mark.slow
def test_some_classes_matter_and_others_do_not(tmp_path: Path) -> None:
    sizes = set()
    for seed in range(40):
        network, _, rivals, _ = asked(seed, tmp_path)
        every = milp_verix.explain(network, X, epsilon=EPSILON)
        some = milp_verix.explain(network, X, epsilon=EPSILON, against=rivals)
        sizes.add((every.size, some.size))
    assert any(some < every for every, some in sizes)
    assert any(some for _, some in sizes)


def test_a_result_says_which_classes_it_compares(tmp_path: Path) -> None:
    network, label, _, _ = asked(0, tmp_path)
    rival = (label + 1) % SIZES[-1]
    found = milp_verix.explain(network, X, epsilon=EPSILON, against=rival)
    assert found.against == (rival,)
    assert f"against class {rival} alone" in str(found)
    assert any("other classes may overtake it" in note for note in found.notes)
    assert Explanation.from_json(found.to_json()).against == (rival,)
    assert milp_verix.explain(network, X, epsilon=EPSILON).against is None


def test_the_command_takes_classes(tmp_path: Path) -> None:
    network, label, _, _ = asked(0, tmp_path)
    np.save(tmp_path / "x.npy", X)
    rivals = [rival for rival in range(SIZES[-1]) if rival != label][:2]
    command = ["explain", str(network.path), str(tmp_path / "x.npy"), "--epsilon", "0.3"]
    said = run_here(*command, "--against", ",".join(map(str, rivals)))
    assert f"against class {rivals[0]} and class {rivals[1]} alone" in said.stdout
    assert "against: no class is called 'nine'" in run_here(*command, "--against", "nine").stderr


@pytest.mark.parametrize(
    ("against", "said"),
    [
        ([], "names no class"),
        ([4], "against 4 is out of range"),
        (["a"], "against: no class is called 'a': the classes have no names"),
        ("label", "which the network predicts; name others of the classes 0..3"),
    ],
)
def test_classes_that_cannot_be_compared(against: object, said: str, tmp_path: Path) -> None:
    network, label, _, _ = asked(0, tmp_path)
    with pytest.raises(InputError, match=said):
        milp_verix.explain(
            network, X, epsilon=EPSILON, against=label if against == "label" else against
        )


def test_a_regression_has_no_classes(tmp_path: Path) -> None:
    network, _, rivals, _ = asked(0, tmp_path)
    with pytest.raises(InputError, match="against belongs to classification"):
        milp_verix.explain(network, X, epsilon=EPSILON, delta=0.1, against=rivals)
