"""Arguments that do not fit are refused by their own error, which says what was seen."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import milp_verix
from milp_verix import InputError, MilpVerixError, ModelError, OnnxNetwork, check, datasets, explain
from tests.support.random_networks import as_layers, dense_network

X = [0.25, 0.5, 0.75]
LAYERS = as_layers(([[1, 0, 0], [0, 1, 0], [0, 0, 1]], [0, 0, 0]))

SHARED: list[tuple[dict[str, Any], str]] = [
    ({"x": [0.25, np.nan, 0.75]}, "the input is nan at coordinate 1"),
    ({"x": [np.inf, 0.5, 0.75]}, "the input is inf at coordinate 0"),
    ({"x": [0.25, 0.5, 1.5]}, "the input is 1.5 at coordinate 2, outside its domain [0, 1]"),
    ({"x": [25, 50, 75]}, "3 of 3 coordinates outside): rescale the input"),
    ({"x": [0.25, -1e-6, 0.75]}, "at coordinate 1, outside its domain"),
    ({"x": [1e300, 0.5, 0.75]}, "the input is inf at coordinate 0"),
    ({"x": [0.25, 0.5]}, "the input has shape (2,), expected (1, 3)"),
    ({"x": [[0.25, 0.5, 0.75]] * 2}, "the input has shape (2, 3), expected (1, 3)"),
    ({"x": 0.5}, "the input has shape (), expected (1, 3)"),
    ({"x": [0.25, [0.5], 0.75]}, "the input is not an array"),
    ({"x": ["a", "b", "c"]}, "the input must hold numbers, got dtype <U1"),
    ({"x": [True, False, True]}, "the input must hold numbers, got dtype bool"),
    ({"x": [0.25j, 0.5, 0.75]}, "the input must hold numbers, got dtype complex128"),
    ({"x": None}, "the input must hold numbers, got dtype object"),
    ({"epsilon": -0.1}, "epsilon must be finite and not negative, got -0.1"),
    ({"epsilon": np.nan}, "epsilon must be finite and not negative, got nan"),
    ({"epsilon": np.inf}, "epsilon must be finite and not negative, got inf"),
    ({"epsilon": "big"}, "epsilon must be a number, got 'big'"),
    ({"epsilon": None}, "epsilon must be a number, got None"),
    ({"epsilon": [0.1, 0.2]}, "epsilon has 2 radii, but there are"),
    ({"norm": "l7"}, "norm 'l7'"),
    ({"norm": 2}, "norm must be a text, got 2"),
    ({"norm": "l3"}, "unknown norm 'l3'; choose one of linf, l1, l2"),
    ({"delta": -1}, "delta must be finite and not negative, got -1"),
    ({"delta": np.nan}, "delta must be finite and not negative, got nan"),
    ({"delta": "much"}, "delta must be a number, got 'much'"),
    ({"delta": 0.1, "label": 2}, "label belongs to classification, delta to regression"),
    ({"delta": 0.1, "output": 3}, "output 3 is out of range: the network's outputs are 0..2"),
    ({"output": 0}, "output belongs to regression"),
    ({"label": 3}, "label 3 is out of range: the network's classes are 0..2"),
    ({"label": -1}, "label -1 is out of range"),
    ({"label": 0}, "the network predicts class 2, not class 0"),
    ({"label": "cat"}, "label: no class is called 'cat': the classes have no names"),
    ({"domain": (1.0, 0.0)}, "the domain needs lower <= upper"),
    ({"domain": (np.nan, 1.0)}, "the domain needs lower <= upper everywhere and no NaN"),
    ({"domain": (0.0,)}, "the domain is a pair (lower, upper)"),
    ({"domain": (0.0, 1.0, 2.0)}, "the domain is a pair (lower, upper)"),
    ({"domain": None}, "the domain is a pair (lower, upper)"),
    ({"domain": ([0.0, 0.0], 1.0)}, "arrays of the input's shape (1, 3)"),
    ({"domain": ("low", "high")}, "the domain is a pair (lower, upper)"),
    ({"features": "pixels"}, "not an input of shape (1, 3)"),
    ({"features": "superpixels"}, "unknown features 'superpixels'"),
    ({"features": [[0, 1]]}, "each of the 3 input coordinates 0..2 exactly once"),
    ({"features": np.array([0.0, 1.0, 2.0])}, "holds integers, got dtype float64"),
    ({"solver": "baron"}, "unknown solver 'baron'; choose one of auto, highs,"),
    ({"bounds": "tight"}, "unknown bounds 'tight'"),
    ({"threads": 0}, "threads must be an integer of at least 1, got 0"),
    ({"threads": "all"}, "threads must be an integer of at least 1, got 'all'"),
    ({"time_limit": 0}, "time_limit must be positive, got 0"),
    ({"time_limit": -5}, "time_limit must be positive, got -5"),
    ({"time_limit": np.nan}, "time_limit must be positive, got nan"),
    ({"time_limit": "soon"}, "time_limit must be a number of seconds or None, got 'soon'"),
]

EXPLAIN: list[tuple[dict[str, Any], str]] = [
    ({"order": "influential"}, "unknown order 'influential'; choose one of auto, influence,"),
    ({"order": [0, 1]}, "a custom order lists each of the 3 features 0..2 exactly once"),
    ({"order": [0, 1, 1]}, "a custom order lists each of the 3 features"),
    ({"transformation": "blur"}, "unknown transformation 'blur'; choose one of reversal, deletion"),
    (
        {"order": "sensitivity", "domain": (0.0, np.inf)},
        "'reversal' needs a finite domain",
    ),
    ({"check_time_limit": 0}, "check_time_limit must be positive, got 0"),
    ({"seed": -1}, "seed must be an integer of at least 0, got -1"),
    ({"seed": None}, "seed must be an integer of at least 0, got None"),
]

CHECK: list[tuple[dict[str, Any], str]] = [
    ({"free": [3]}, "feature 3 is out of range: the features are 0..2"),
    ({"free": [-1]}, "feature -1 is out of range"),
    ({"free": [0, 1, 0]}, "free lists a feature twice"),
    ({"free": [0.5]}, "free lists features by their integer indices"),
    ({"free": [True, False]}, "free: the mask has shape"),
    ({"free": [True, 2]}, "free lists features by their integer indices"),
    ({"free": [[0], [1, 2]]}, "free lists features by their integer indices"),
    ({"free": "age"}, "there is no feature 'age': give an index from 0 to 2, or a name"),
    ({"free": [1], "features": [[0, 1, 2]]}, "feature 1 is out of range: the features are 0..0"),
]


@pytest.fixture
def network(tmp_path: Path) -> OnnxNetwork:
    return dense_network(LAYERS, tmp_path)


def assert_refused(function: Any, message: str, *arguments: Any, **options: Any) -> None:
    with pytest.raises(MilpVerixError, match=re.escape(message)) as caught:
        function(*arguments, **options)
    # both the base class of all errors and what Python programmers expect
    assert isinstance(caught.value, InputError)
    assert isinstance(caught.value, ValueError)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [None, 3, ["a.jsonl"]])
def test_a_path_is_no_other_value(network: OnnxNetwork, value: Any) -> None:
    def journal(path: Any) -> object:
        return milp_verix.explain_many(network, [X], epsilon=0.1, journal=path)

    takers = [journal, milp_verix.run_study, milp_verix.read_study, milp_verix.write_report]
    for taker in (*takers, datasets.mnist, datasets.gtsrb, datasets.npz):
        assert_refused(taker, f"must be the path of a file or folder, got {value!r}", value)


@pytest.mark.parametrize(("changed", "message"), SHARED + EXPLAIN)
def test_explain_refuses(network: OnnxNetwork, changed: dict[str, Any], message: str) -> None:
    options = {"x": X, "epsilon": 0.1, **changed}
    assert_refused(explain, message, network, options.pop("x"), **options)


@pytest.mark.parametrize(("changed", "message"), SHARED + CHECK)
def test_check_refuses(network: OnnxNetwork, changed: dict[str, Any], message: str) -> None:
    options = {"x": X, "free": [0], "epsilon": 0.1, **changed}
    assert_refused(check, message, network, options.pop("x"), options.pop("free"), **options)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"nowhere\.onnx"):
        explain(tmp_path / "nowhere.onnx", X, epsilon=0.1)


def test_what_fits_is_taken(network: OnnxNetwork) -> None:
    # the table above changes one thing at a time: all the rest of each call must be right
    assert explain(network, X, epsilon=0.1).minimal
    assert check(network, X, [0], epsilon=0.1).holds
