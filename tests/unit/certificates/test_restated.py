"""An audit is certified as an explanation: of its sound set, or of the point that refutes a set."""

from pathlib import Path

import numpy as np

from milp_verix.api.calls import audit
from milp_verix.certificates.restated import refuting_explanation, sound_explanation
from tests.support.random_networks import as_layers, dense_network

# the first score is ahead by 1 - x0 - x1/10; x2 has no part in it
LAYERS = as_layers(([[1, 0.1, 0], [0, 0, 0]], [0, 0]), ([[0, 0], [1, 0]], [1, 0]))


def test_a_refuted_set_is_one_free_feature_with_its_point(tmp_path: Path) -> None:
    found = audit(dense_network(LAYERS, tmp_path), np.full(3, 0.5), [1], epsilon=0.9)
    told = refuting_explanation(found)
    assert told.groups == ((0, 2), (1,))
    assert (told.explanation, told.irrelevant) == ((0, 1), ())
    assert told.counterfactuals == {0: found.counterexample}


def test_a_sound_set_leaves_the_others_irrelevant(tmp_path: Path) -> None:
    found = audit(dense_network(LAYERS, tmp_path), np.full(3, 0.5), [0, 2], epsilon=0.9)
    told = sound_explanation(found)
    assert (told.explanation, told.irrelevant) == ((0,), (1, 2))
    assert {*told.counterfactuals} | {*told.unknown_reasons} == {0}
