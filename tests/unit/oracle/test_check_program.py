"""Programs that memory has no room for are refused before bounds are found, or rows made."""

import pulp
import pytest

import milp_verix
from milp_verix import InputError
from milp_verix.oracle import check_program
from tests.support.extreme_sizes import layered, of_trees
from verix_encodings import Encoding


def _embedded(network: milp_verix.OnnxNetwork) -> object:
    model = pulp.LpProblem()
    inputs = [pulp.LpVariable(f"x{place}", 0, 1) for place in range(network.input_size)]
    return milp_verix.embed(model, network, inputs)


def test_a_program_beyond_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    network = layered(40, 30, 5)
    needed = check_program._EACH_ENTRY * (40 * 30 + 30 * 4)  # four margins
    monkeypatch.setattr(check_program, "free_memory", lambda: needed)
    assert _asked(network).program.columns
    monkeypatch.setattr(check_program, "free_memory", lambda: needed - 1)
    with pytest.raises(InputError, match=r"1,320 entries.* a network of 1,319 entries would"):
        _asked(network)
    with pytest.raises(InputError, match=r"1,350 entries.* a network of 989 entries would fit"):
        _embedded(network)


def test_trees_beyond_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    trees = of_trees(n_estimators=5).model
    monkeypatch.setattr(check_program, "free_memory", lambda: 1000)
    with pytest.raises(InputError, match="would fit"):
        _asked(trees)
    with pytest.raises(InputError, match="would fit"):
        _embedded(trees)


def _asked(network: milp_verix.OnnxNetwork) -> Encoding:
    return milp_verix.encode_check(network, [0.5] * network.input_size, epsilon=0.1)
