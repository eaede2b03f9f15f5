"""Every solver installed gives the same verdicts; a disagreement between definite ones fails."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from milp_verix import Answer, OnnxNetwork, check, explain
from milp_verix.solvers import SOLVERS
from tests.support.counterfactual_checks import assert_sound
from tests.support.installed_solvers import each_solver, why_not
from tests.support.random_networks import convolutional, dense_network, random_layers, residual
from verix_encodings import interval_bounds

pytestmark = pytest.mark.slow

Make = Callable[[Path, int], OnnxNetwork]


def deep(folder: Path, seed: int) -> OnnxNetwork:
    return dense_network(random_layers(np.random.default_rng(seed), (6, 8, 6, 5, 3)), folder)


NETWORKS: dict[str, Make] = {"convolutional": convolutional, "residual": residual, "deep": deep}


@pytest.mark.parametrize("kind", NETWORKS)
@pytest.mark.parametrize("delta", [None, 0.3])
def test_verdicts_of_all_solvers_agree(kind: str, delta: float | None, tmp_path: Path) -> None:
    solvers = [name for name in SOLVERS if why_not(name) is None]
    if len(solvers) < 2:
        pytest.skip("only one solver is installed")
    answers: list[dict[str, Answer]] = []
    for seed in range(4):
        network = NETWORKS[kind](tmp_path, seed)
        rng = np.random.default_rng(seed)
        x = rng.uniform(size=network.input_size)
        for epsilon in (0.02, 0.1, 0.3):
            free = np.flatnonzero(rng.random(network.input_size) < 0.5)
            options: dict[str, Any] = {"epsilon": epsilon, "delta": delta}
            # with interval arithmetic more is left to the solvers
            options["bounds"] = interval_bounds
            verdicts = {name: check(network, x, free, solver=name, **options) for name in solvers}
            answers.append({name: verdict.answer for name, verdict in verdicts.items()})
    definite = [set(row.values()) - {Answer.UNKNOWN} for row in answers]
    assert all(len(said) == 1 for said in definite), answers
    assert {Answer.HOLDS, Answer.VIOLATED} <= set().union(*definite)
    # UNKNOWN is honest, but no way to agree
    assert sum(Answer.UNKNOWN in row.values() for row in answers) == 0


@each_solver
@pytest.mark.parametrize("kind", NETWORKS)
def test_explanations_of_all_solvers_are_the_same(solver: str, kind: str, tmp_path: Path) -> None:
    network = NETWORKS[kind](tmp_path, 1)
    x = np.random.default_rng(1).uniform(size=network.input_size).astype(network.dtype)
    options: dict[str, Any] = {"epsilon": 0.4 if kind != "deep" else 0.7, "bounds": interval_bounds}
    expected = explain(network, x, solver="auto", **options)
    found = explain(network, x, solver=solver, **options)
    assert found.solver == solver
    assert found.explanation == expected.explanation
    assert 0 < found.size < network.input_size
    assert_sound(found, network, x)
