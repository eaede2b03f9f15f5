"""Ensembles of trees as the checker reads and bounds them."""

import hashlib
import json
from typing import Any

import pytest

from tests.support.certificates import checked
from verix_checker.trees import Ensemble
from verix_checker.verification import verify

# the first tree tells x0 <= 1/2 from above, the second x1 <= 1/2
STEP = [[0, "1/2", 1, 2], {"0": -1}, {"0": 1}]
OTHER = [[1, "1/2", 1, 2], {}, {"0": "1/2"}]
FILE = {"inputs": 2, "base": ["1/4"], "rounding": ["1/1024"], "ties": None, "trees": [STEP, OTHER]}


def proof(file: dict[str, Any], tree: Any, **changed: Any) -> tuple[bytes, dict[str, Any]]:
    """Return a file, and a certificate that class 0 stays, without points."""
    model = json.dumps(file).encode()
    claim = {
        "sha256": hashlib.sha256(model).hexdigest(),
        "source": "ab",
        "input": [0, 0],
        "epsilon": "1/2",
        "norm": "linf",
        "domain": [None, None],
        "features": [[0], [1]],
        "irrelevant": [0, 1],
        "class": 0,
        "minimal": True,
        "bits": 12,
        **changed,
    }
    return model, {"claim": claim, "trees": [tree], "points": {}}


def said(file: dict[str, Any], tree: Any, **changed: Any) -> list[str]:
    """Return what the checker says of it."""
    model, data = proof(file, tree, **changed)
    return list(verify(model, data))


def test_a_threshold_belongs_to_its_left_side() -> None:
    assert "a margin holds; cases: 1" in said(FILE, {})
    with pytest.raises(ValueError, match=r"no more than 1\.75"):
        said(FILE, {}, epsilon="2049/4096")


def test_a_split_leaves_no_number_out_and_none_twice() -> None:
    # the margin is 1/4 at most unless both are above 1/2, where the trees do not meet
    trees = [STEP, [[0, "1/2", 1, 2], {"0": "1/2"}, {"0": "-3/2"}]]
    file = {**FILE, "base": [0], "trees": trees}
    tree: dict[str, Any] = {"input": 0, "at": "1/2", "below": {}, "above": {}}
    assert "a margin holds; cases: 2" in said(file, tree, epsilon=3)
    for at in ("1/4", "3/4", "2047/4096"):
        with pytest.raises(ValueError, match="proves no more"):
            said(file, {**tree, "at": at}, epsilon=3)
    with pytest.raises(ValueError, match="proves no more"):
        said(file, {**tree, "input": 1}, epsilon=3)


def test_all_rounding_counts_against_the_claim() -> None:
    near = {**FILE, "base": ["1022/1024"], "trees": [STEP]}
    assert "the library: the rounding of sums in float32 is allowed for" in said(near, {})
    with pytest.raises(ValueError, match="proves no more"):
        said({**near, "base": ["1023/1024"]}, {})
    for rounding in ("1/1152921504606846976", 0):  # 2**-60 is less than float64 is off
        with pytest.raises(ValueError, match="rounded by more"):
            said({**near, "base": ["1/3"], "rounding": [rounding]}, {}, odd=3, bits=60)


def test_sums_are_exact_below_so_many_steps_of_a_power_of_two() -> None:
    whole = {**FILE, "rounding": [0], "base": [0], "trees": [STEP]}
    assert "the library: sums are exact in float32" in said(whole, {})
    times = 2**52
    large = [[0, "1/2", 1, 2], {"0": -3 * times}, {"0": 3 * times}]
    assert "the library: sums are exact in float32" in said({**whole, "trees": [large]}, {})
    # sums of these are multiples of 3, and need more digits than float64 has
    many = {**whole, "trees": [large, [[1, "1/2", 1, 2], {"0": -3}, {"0": 3}]]}
    with pytest.raises(ValueError, match="rounded by more"):
        said(many, {})


@pytest.mark.parametrize(("ties", "kept"), [("lower", True), ("upper", False), (None, False)])
def test_ties_go_where_the_model_says(ties: str | None, kept: bool) -> None:
    file = {**FILE, "base": [1], "rounding": [0], "ties": ties, "trees": [STEP]}
    model, data = proof(file, {})
    assert checked(model, json.dumps(data)) is kept
    assert not checked(*_named({**file, "rounding": ["1/8"]}, data)) or ties is None


def _named(file: dict[str, Any], data: dict[str, Any]) -> tuple[bytes, str]:
    model = json.dumps(file).encode()
    claim = {**data["claim"], "sha256": hashlib.sha256(model).hexdigest()}
    return model, json.dumps({**data, "claim": claim})


def test_of_equal_scores_the_first_wins() -> None:
    trees = [[[0, 0, 1, 2], {"0": 1}, {"1": 1}], [[0, 0, 1, 2], {"1": 1}, {"0": 1}]]
    file = {"inputs": 2, "base": [0, 0], "rounding": [0, 0], "ties": "first", "trees": trees}
    split = {"input": 0, "at": 0, "below": {}, "above": {}}
    assert "a margin holds; cases: 2" in said(file, split)
    with pytest.raises(ValueError, match="proves no more"):
        said(file, split, **{"class": 1})
    with pytest.raises(ValueError, match="proves no more"):
        said({**file, "ties": None}, split)


@pytest.mark.parametrize(
    ("nodes", "told"),
    [
        ([[0, 0, 1, 1], {}], "the children"),
        ([[0, 0, 0, 1], {}], "the children"),
        ([[0, 0, 1, 2], {}], "not there"),
        ([{}, {}], "without a parent"),
        ([[0, 0, 1, 2], [0, 1, 2, 3], {}, {}], "two parents"),
        ([[2, 0, 1, 2], {}, {}], "no input"),
        ([{"1": 1}], "no score"),
        ([{"00": 1}], "names nothing"),
    ],
)
def test_other_graphs_than_trees_are_refused(nodes: list[Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        Ensemble(json.dumps({**FILE, "trees": [nodes]}).encode(), 2**12)


@pytest.mark.parametrize("size", [0, -1, True, 2.0, 10**9])
def test_a_number_of_inputs_is_no_endless_work(size: Any) -> None:
    with pytest.raises(ValueError, match="inputs"):
        Ensemble(json.dumps({**FILE, "inputs": size}).encode(), 2**12)


def test_a_file_that_names_a_part_twice_is_refused() -> None:
    text = json.dumps(FILE).replace('"ties"', '"base": ["9"], "ties"')
    with pytest.raises(ValueError, match="comes twice"):
        Ensemble(text.encode(), 2**12)


def test_a_box_beyond_the_ball_has_no_input() -> None:
    trees = [STEP, [[1, "1/2", 1, 2], {"0": -1}, {"0": 1}]]
    file = {**FILE, "base": [0], "trees": trees}
    corner = {"input": 1, "at": "1/2", "below": {}, "above": {}}
    tree = {"input": 0, "at": "1/2", "below": {"input": 1, "at": "1/2", "below": {}, "above": {}}}
    tree["above"] = corner
    # (1/2, 1/2) is farther than 11/16 in the L2 norm, but scores of 0 are too near
    base = {**file, "base": ["-1/2"]}
    assert "a margin holds; cases: 4" in said(base, tree, epsilon="11/16", norm="l2")
    with pytest.raises(ValueError, match="proves no more"):
        said(base, tree, epsilon="3/4", norm="l2")


def test_a_claim_about_trees_has_no_network_and_the_other_way_round() -> None:
    for name, value in (("output", "y"), ("beside", {"a": "b"})):
        model, data = proof(FILE, {}, **{name: value})
        assert not checked(model, json.dumps(data))
    model, data = proof(FILE, {})
    del data["claim"]["source"]
    assert not checked(model, json.dumps(data))
