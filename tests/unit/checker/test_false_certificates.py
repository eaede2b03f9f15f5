"""False certificates made by hand: each is refused, and for its own reason.

A checker without the check that a row is about verifies it. So each row is run a second time, where
this check alone is left out: it is verified then, and a refusal is no matter of luck. Rows with
``ALSO`` are refused by another check, too; whoever leaves one out still has the other.
"""

import hashlib
import json
import pkgutil
import re
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

import verix_checker
from tests.support.hand_made import (
    about,
    bent,
    constant,
    endless,
    explained,
    network,
    ruled,
    scenario,
    step,
    tied,
    trees,
    valued,
)
from verix_checker.verification import verify

Made = Callable[[], tuple[bytes, dict[str, Any]]]
GONE = object()
ALSO = True
RATIO = ["0", "1/3"]
THIRDS = [["1/3", "1/3"]] * 3

# a certificate, what is changed in it, the reason of the refusal
FALSE: dict[str, Any] = {
    # ---- the fields of a claim, and what each of them means
    "another network": (explained, {"claim.sha256": "0" * 64}, "another network"),
    "a hash of another kind": (explained, {"claim.sha256": None}, "no text", ALSO),
    "an input as a text": (explained, {"claim.input": "0000"}, "'?0000'? is no list", ALSO),
    "an input as an object": (explained, {"claim.input": dict.fromkeys("0000"[:1])}, "list", ALSO),
    "an input that is false": (explained, {"claim.input.0": False}, "False is no number"),
    "an input that is too short": (
        explained,
        {"claim.input": [0, 0, 0]},
        "the sizes of input",
        ALSO,
    ),
    "an input that is too long": (explained, {"claim.input": [0] * 5}, "the sizes of input", ALSO),
    "an input that the model's type has not": (
        constant,
        {"claim.input.0": f"{2**60 - 1}/{2**60}", "claim.bits": 60},
        "no such input",
    ),
    "an input without end": (explained, {"claim.input.3": "1e400/0"}, "is no number", ALSO),
    "a ratio of zero": (explained, {"claim.input.3": "1/0"}, "is no number", ALSO),
    "an infinite radius that is no null": (explained, {"claim.epsilon": 1e400}, "number", ALSO),
    "no number": (explained, {"claim.epsilon": float("nan")}, "nan is no number", ALSO),
    "a radius that is true": (explained, {"claim.epsilon": True}, "True is no number"),
    "a radius that is negative": (explained, {"claim.epsilon": -1}, "not in the ball", ALSO),
    "radii in an object": (explained, {"claim.epsilon": {"0": 1}}, "is no number", ALSO),
    "radii of too few inputs": (ruled, {"claim.epsilon": [2, 2, None]}, "the sizes of input", ALSO),
    "radii in another norm": (constant, {"claim.epsilon": [1, 1], "claim.norm": "l1"}, "radii"),
    "another norm": (explained, {"claim.norm": "l3"}, "the norm is none of", ALSO),
    "a domain as a text": (explained, {"claim.domain": "01"}, "01 is no list"),
    "a domain as an object": (explained, {"claim.domain": {"0": 9, "1": 9}}, "is no list"),
    "three ends of a domain": (explained, {"claim.domain": [0, 1, 5]}, "upper end", ALSO),
    "a domain that is reversed": (
        constant,
        {"claim.domain": [1, 0], "claim.epsilon": 3},
        "input is not in the ball and the domain",
    ),
    "an input beyond its domain": (
        constant,
        {"claim.domain": [[2, 0], [3, 1]]},
        "input is not in the ball and the domain",
    ),
    "features that leave an input out": (
        lambda: about(trees(2, step(1)), {"source": "by hand", "input": [0, 0]}),
        {"claim.features": [[0]], "claim.irrelevant": [0]},
        "no partition",
    ),
    "features that overlap": (
        explained,
        {"claim.features": [[0], [1], [2], [3, 0]], "claim.irrelevant": []},
        "no partition",
        ALSO,
    ),
    "an input twice in a feature": (explained, {"claim.features.3": [3, 3]}, "comes twice", ALSO),
    "a feature without inputs": (
        constant,
        {"claim.features": [[0], [1], []], "claim.irrelevant": [0, 1, 2]},
        "no partition",
    ),
    "features that are true": (explained, {"claim.features.1": [True]}, "True is no integer"),
    "an irrelevant feature twice": (explained, {"claim.irrelevant": [3, 3]}, "comes twice"),
    "an irrelevant feature too many": (
        explained,
        {"claim.irrelevant": [2, 3], "points.2": GONE},
        "a case proves no more than",
    ),
    "an irrelevant feature that is none": (
        constant,
        {"claim.irrelevant": [0, 1, 2]},
        "an irrelevant feature is none",
        ALSO,
    ),
    "an irrelevant feature from the end": (
        explained,
        {"claim.irrelevant": [-1]},
        "-1 is less than zero",
        ALSO,
    ),
    "a class that no score has": (constant, {"claim.class": 7}, "no such class", ALSO),
    "a class that is true": (constant, {"claim.class": True}, "True is no integer"),
    "a class and values": (tied, {"claim.delta": 0}, "delta or outputs beside a class"),
    "rivals of a single score": (explained, {"claim.against": [0]}, "against names rivals"),
    "no rivals": (tied, {"claim.against": [], "trees": []}, "against names no rivals"),
    "a class as its own rival": (tied, {"claim.against": [0, 1]}, "against names no", ALSO),
    "a rival twice": (tied, {"claim.against": [1, 1]}, "comes twice"),
    "a rival that no score has": (tied, {"claim.against": [1, 5]}, "against names no", ALSO),
    "a tie that goes to another class": (
        tied,
        {"claim.class": 1, "claim.input": [1, 1]},
        "a case proves no more than",
    ),
    "minimal as a text": (explained, {"claim.minimal": "no"}, "no is no true or false"),
    "minimal without a point": (explained, {"points.1": GONE}, "a feature has no point"),
    "a unit that is true": (constant, {"claim.bits": True}, "True is no integer"),
    "a unit without end": (constant, {"claim.bits": 9999}, "bits are more than"),
    "a unit of zero": (constant, {"claim.odd": 0}, "odd is zero", ALSO),
    "trees with an output": (explained, {"claim.output": "y"}, "no claim about trees"),
    "trees of no model": (explained, {"claim.source": GONE}, "no claim about trees"),
    "a network of another model": (network, {"claim.source": "x"}, "has an output and no source"),
    "an output that the file has not": (network, {"claim.output": "r"}, "has no output", ALSO),
    "weights beside trees": (explained, {"claim.beside": {"w": "0"}}, "weights beside"),
    "a field with a slip": (constant, {"claim.agianst": [0]}, "no field is called 'agi", ALSO),
    "a part with a slip": (constant, {"pionts": {}}, "no field is called 'pionts'", ALSO),
    # ---- points that show features to be needed
    "a point without end": (
        endless,
        {"claim.irrelevant": [1], "points": {"0": {"0": "-"}}},
        "finite coordinates",
        ALSO,
    ),
    "a start without end": (
        endless,
        {"claim.irrelevant": [1], "starts": ["-."], "points": {"0": {"start": 0}}},
        "finite coordinates",
        ALSO,
    ),
    "a point beyond the ball": (
        explained,
        {"claim.epsilon": "3/4", "points.0": {"0": 1}, "points.1.1": "3/4", "points.2.2": "3/4"},
        "point 0 is outside",
        ALSO,
    ),
    "a point beyond the domain": (explained, {"points.1.1": 2}, "point 1 is outside"),
    "a point that moves another feature": (
        explained,
        {"points.0": {"0": 0, "1": 1}},
        "point 0 is outside",
    ),
    "a point with the same prediction": (explained, {"points.1.1": "1/2"}, "the same prediction"),
    "a point of a free feature": (
        explained,
        {"points.3": {"3": 1, "0": 1}, "claim.minimal": False},
        "point 3 is outside",
    ),
    "a point of a feature by another name": (
        explained,
        {"points.00": {"0": 1}},
        "'00' names nothing",
    ),
    "a coordinate that is true": (explained, {"points.1.1": True}, "True is no number"),
    "a coordinate that is null": (explained, {"points.1.1": None}, "None is no number", ALSO),
    "a start from the end": (explained, {"points.0.start": -1}, "-1 is less than zero"),
    "a start of digits": (explained, {"starts": ["0001"]}, "a sign is none of"),
    # ---- trees of cases
    "a case that is left out": (
        network,
        {"trees.0.above.above": GONE},
        "above must be given",
        ALSO,
    ),
    "a margin without a tree": (tied, {"trees": [{}]}, "zip", ALSO),
    "a false score": (lambda: network(0.75), {}, "a case proves no more than"),
    "a slope beyond one": (
        lambda: bent(0.25),
        {"trees.0.slopes.0": 3},
        r"a slope is not in \[0, 1\]",
    ),
    "a multiplier that is negative": (
        lambda: bent(0.25),
        {
            "trees.0": {
                "neuron": 0,
                "below": {"slopes": {}, "multipliers": {"0": 3}},
                "above": {"slopes": {}, "multipliers": {"0": -2}},
            }
        },
        "a multiplier is negative",
    ),
    "a multiplier of a neuron that is not split": (
        network,
        {"trees.0.below.multipliers": {"1": 1}},
        "not split",
        ALSO,
    ),
    "a neuron that is not there": (network, {"trees.0.neuron": 9}, "no such variable", ALSO),
    "a leaf of trees with slopes": (explained, {"trees.0": {"slopes": {}}}, "names nothing"),
    # ---- lower bounds
    "a bound above the least cost": (
        explained,
        {"claim.minimum.bound": 7},
        "a case of sets is open",
    ),
    "costs as an object": (
        explained,
        {"claim.minimum.costs": {"1": 0, "2": 0, "3": 0, "4": 0}},
        "is no list",
    ),
    "costs as a text": (explained, {"claim.minimum.costs": "1234"}, "1234 is no list"),
    "costs of other features": (
        explained,
        {"claim.minimum.costs": [1, 2, 3]},
        "each feature has a cost",
    ),
    "a cost that is negative": (
        explained,
        {"claim.minimum.costs": [1, 2, 3, -4]},
        "a cost of at least zero",
    ),
    "a cost that is true": (explained, {"claim.minimum.costs.0": True}, "True is no number"),
    "must and must_not name a feature": (
        explained,
        {"claim.minimum": {"bound": 100, "must": [0], "must_not": [0]}},
        "must and must_not name",
    ),
    "must names no feature": (
        explained,
        {"claim.minimum.must_not": [7]},
        "must and must_not name no features",
    ),
    "a weight that is negative": (
        explained,
        {"claim.minimum.bound": 7, "minimum.tree.weights": {"0": 2, "1": 3, "2": 3, "3": -1}},
        "a weight is negative",
    ),
    "a change with the same prediction": (
        explained,
        {"claim.minimum.bound": 10, "minimum.changes.3": {"3": 1}, "minimum.tree.weights.3": 4},
        "a change has the same prediction",
    ),
    "a change beyond the domain": (
        explained,
        {"minimum.changes.3": {"0": 9}},
        "a change is not in the ball and the domain",
    ),
    "a change without end": (
        endless,
        {
            "claim.minimum": {"bound": 2},
            "minimum": {"changes": [{"0": "-"}, {"1": "-"}], "tree": {"weights": {"0": 1, "1": 1}}},
        },
        "finite coordinates",
        ALSO,
    ),
    "a bound without a proof": (explained, {"minimum": GONE}, "without its proof", ALSO),
    "a proof of nothing": (explained, {"claim.minimum": GONE}, "or a proof of none"),
    "a feature decided twice": (
        explained,
        {"no_part.tree.in.feature": 0},
        "a feature that is decided",
        ALSO,
    ),
    "a scenario beyond the ball": (
        scenario,
        {
            "claim.minimum.bound": 3,
            "minimum.scenarios": [[1, 1], [9, 9]],
            "minimum.tree.weights": {"1": 1},
        },
        "a point is not in the ball",
        ALSO,
    ),
    "a bound by scenarios above the least cost": (
        scenario,
        {"claim.minimum.bound": 3},
        "a case proves no more than",
    ),
    "a move that is true": (scenario, {"minimum.scenarios.0.0": True}, "True is no integer"),
    "a weight of margins that is negative": (
        scenario,
        {"minimum.tree.weights.0": -1},
        "-1 is less than zero",
        ALSO,
    ),
    # ---- features that play no part
    "a feature that plays a part": (
        explained,
        {"claim.no_part": [2, 3]},
        "a feature that is asked about",
    ),
    "no features that play no part": (explained, {"claim.no_part": []}, "no_part names no"),
    "features that are not there": (explained, {"claim.no_part": [3, 9]}, "no_part names no"),
    "a case of sets that is open": (
        explained,
        {"claim.no_part": [2], "no_part.tree": {"kept": 0}},
        "a case of sets is open",
    ),
    "a change from the end": (
        explained,
        {"no_part.changes": [{"0": 1}, {"1": 1}, {"2": 1}], "no_part.tree.in.in.out.change": -1},
        "-1 is less than zero",
    ),
    "a kept set that is none": (
        explained,
        {"claim.no_part": [2, 3], "no_part.kept.0.features": [0, 1], "importance.kept": []},
        "a case proves no more than",
        ALSO,
    ),
    # ---- importance
    "a bracket that is false": (
        explained,
        {"claim.importance.shapley.0": ["1/2", 1]},
        "the importance of feature 0",
    ),
    "a bracket as a text": (
        explained,
        {"claim.importance.shapley.0": "01"},
        "01 is no list",
    ),
    "brackets of some features": (
        explained,
        {"claim.importance.shapley": [RATIO] * 3},
        "too many features",
    ),
    "a set that keeps nothing": (
        explained,
        {"importance.kept.0.features": [0, 1]},
        "a case proves no more than",
    ),
    "a kept set with a feature that is none": (
        explained,
        {"importance.kept.0.features": [0, 1, 2, 8]},
        "a set of no features",
    ),
    "one set that is kept and changed": (
        explained,
        {"importance.changes.3": {"3": 1}, "importance.kept": []},
        "a change has the same prediction",
        ALSO,
    ),
    "importance of a feature that moves without end": (
        endless,
        {
            "claim.importance": {"shapley": [[1, 1], [0, 0]]},
            "claim.irrelevant": [],
            "importance": {
                "changes": [{"0": "-"}],
                "kept": [{"features": [0], "trees": [{}]}],
            },
        },
        "finite coordinates",
        ALSO,
    ),
    "importance as a list": (explained, {"claim.importance": []}, "is no object", ALSO),
    # ---- described inputs
    "a point that breaks a rule": (ruled, {"points.0.1": 1}, "point 0 is outside"),
    "a point between whole numbers": (ruled, {"points.0.0": "7/4"}, "point 0 is outside"),
    "a block of two and minus one": (
        ruled,
        {"claim.irrelevant": [1], "points.2": {"2": 2, "3": -1}},
        "point 2 is outside",
    ),
    "blocks that overlap": (
        ruled,
        {"claim.blocks": [[2, 3], [3, 2]]},
        "blocks overlap",
    ),
    "a block of fractions": (ruled, {"claim.whole": [0, 1, 2]}, "other than whole numbers"),
    "whole numbers that are no inputs": (ruled, {"claim.whole": [0, 1, 2, 3, 9]}, "no input", ALSO),
    "a rule about no input": (ruled, {"claim.rules.0.0.factors.9": 1}, "about no input", ALSO),
    "a rule that is strict in words": (
        ruled,
        {"claim.rules.0.0.strict": "yes"},
        "yes is no true or false",
        ALSO,
    ),
    "a rule with a slip": (ruled, {"claim.rules.0.0.limits": 3}, "no field is called", ALSO),
    "a factor by another name": (ruled, {"claim.rules.0.0.factors.00": 1}, "names nothing"),
    "whole numbers without end": (
        ruled,
        {"claim.epsilon": None, "claim.domain": [None, None]},
        "None is no number",
        ALSO,
    ),
    "a range without end in a rule": (
        ruled,
        {"claim.epsilon.1": None, "claim.domain": [[0, None, 0, 0], [3, None, 1, 1]]},
        "an input may move without end",
    ),
    # ---- values of regressions, and ranges
    "a smaller delta": (valued, {"claim.delta": "1/8"}, "a case proves no more than"),
    "a delta that is negative": (
        valued,
        {"claim.delta": "-1/8", "claim.irrelevant": [], "points.1": {"1": 1}},
        "a case proves no more than",
    ),
    "no values": (valued, {"claim.outputs": [], "trees": []}, "name no values to keep", ALSO),
    "a value twice": (valued, {"claim.outputs": [0, 0]}, "comes twice"),
    "a value that is not there": (valued, {"claim.outputs": [0, 2]}, "no values to keep", ALSO),
    "rivals of values": (valued, {"claim.against": [0]}, "name no values to keep"),
    "a delta of nothing": (valued, {"claim.outputs": GONE}, "name no values to keep", ALSO),
    "a range whose end is beyond": (
        lambda: about(
            trees(1, step(0)),
            {"source": "by hand", "input": [0], "irrelevant": [0], "domain": [[0], ["1/2"]]},
        ),
        {"claim.domain": [[0], ["3/4"]]},
        "a case proves no more than",
    ),
    # ---- the file of trees
    "scores in an object": (explained, {"file.base": {"-1/2": 9}}, "is no list"),
    "a number of inputs that is true": (
        lambda: about(trees(1, step(0)), {"source": "by hand", "input": [0]}),
        {"file.inputs": True},
        "True is no integer",
    ),
    "ties that are no rule": (constant, {"file.ties": "mine"}, "a rule for ties", ALSO),
    "ties of sums that are rounded": (
        constant,
        {"file.rounding": ["1/8"]},
        "ties of sums that are rounded",
    ),
    "a rounding that is too small": (
        constant,
        {"file.rounding": ["1/1208925819614629174706176"], "file.ties": None, "claim.bits": 80},
        "rounded by more",
        ALSO,
    ),
    "a tree that goes in circles": (
        explained,
        {"file.trees.0": [[0, "1/2", 0, 1], {}]},
        "the children of a node",
        ALSO,
    ),
    "a node with two parents": (
        constant,
        {"file.trees.0": [[0, "1/2", 1, 2], [1, "1/2", 2, 3], {}, {}]},
        "two parents",
    ),
    "a leaf that is not there": (constant, {"file.trees.0": [[0, 0, 1, 2], {}]}, "not there"),
    "a tree without an end": (constant, {"file.trees.0": []}, "not there", ALSO),
    "a leaf of another score": (constant, {"file.trees.0": [{"1": 5}]}, "adds to no score"),
    "a leaf with a score by another name": (
        constant,
        {"file.trees.0": [{"00": 1}]},
        "names nothing",
    ),
    # ---- ties, sums and ends that somebody might count otherwise
    "a tie that goes to class 1": (
        constant,
        {"file.base": [0], "file.ties": "upper", "file.trees": [], "claim.class": 0},
        "a case proves no more than",
    ),
    "a tie that nobody decides": (
        constant,
        {"file.base": [0], "file.ties": None, "file.trees": []},
        "a case proves no more than",
    ),
    "the first of a single score": (
        constant,
        {"file.base": [0], "file.ties": "first", "file.trees": [], "claim.class": 0},
        "ties of another kind",
    ),
    "a threshold that the input only reaches": (
        explained,
        {"claim.input": ["1/2", 0, 0, 0], "claim.class": 1, "claim.irrelevant": [1, 2, 3]},
        "a case proves no more than",
        ALSO,
    ),
    "rounding that is negative": (
        constant,
        {"file.base": ["-1/4"], "file.rounding": [-1], "file.ties": None, "claim.class": 0},
        "sums are rounded by more than the file says",
        ALSO,
    ),
    "values within less": (valued, {"claim.delta": "1/8"}, "a case proves no more than"),
    "values within less than nothing": (valued, {"claim.delta": "-1/4"}, "a case proves no more"),
    "brackets in another order": (
        explained,
        {"claim.importance.shapley": [[0, 0], *THIRDS]},
        "the importance of feature",
    ),
    "a bracket in reverse": (
        explained,
        {"claim.importance.shapley.0": ["1/2", "1/4"]},
        "the importance of feature 0",
    ),
    "a feature that two changes of one feature pay for": (
        explained,
        {
            "claim.minimum.bound": 7,
            "minimum.changes.3": {"0": "3/4"},
            "minimum.tree.weights": {"0": 1, "1": 2, "2": 3, "3": 1},
        },
        "a case of sets is open",
    ),
    "a rule that holds the input alone out": (
        ruled,
        {"claim.rules": [[{"factors": {}, "limit": 0, "strict": True}]]},
        "input is not in the ball and the domain",
        ALSO,
    ),
    "a limit of a network that is too low": (
        lambda: network(1.0),
        {},
        "a case proves no more than",
    ),
}


def changed(made: Made, changes: dict[str, Any]) -> tuple[bytes, dict[str, Any]]:
    """Return a model and its certificate, with other parts; ``file`` is that of trees."""
    model, proof = made()
    parts = {**json.loads(json.dumps(proof)), "file": json.loads(model) if model[:1] == b"{" else 0}
    for path, value in changes.items():
        *keys, last = path.split(".")
        holder: Any = parts
        for key in keys:
            holder = holder[int(key) if isinstance(holder, list) else key]
        if value is GONE:
            del holder[last]
        else:
            holder[int(last) if isinstance(holder, list) else last] = value
    if any(path.startswith("file.") for path in changes):
        model = json.dumps(parts["file"]).encode()
        parts["claim"]["sha256"] = hashlib.sha256(model).hexdigest()
    del parts["file"]
    return model, parts


@pytest.mark.parametrize(
    "made", [explained, endless, ruled, valued, tied, constant, network, bent, scenario]
)
def test_the_certificates_that_are_changed_are_verified(made: Made) -> None:
    assert list(verify(*made()))[-1].startswith("VERIFIED")


@pytest.mark.parametrize("name", FALSE)
def test_a_false_certificate_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made, changes, reason, *also = FALSE[name]
    model, proof = changed(made, changes)
    with pytest.raises(Exception, match=reason):
        list(verify(model, proof))
    without(reason, monkeypatch)
    if also:
        with pytest.raises(Exception):  # noqa: B017, PT011
            list(verify(model, proof))
        return
    assert list(verify(model, proof))[-1].startswith("VERIFIED")


def without(reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the check out that refuses for a reason."""

    def require(condition: object, failed: str) -> None:
        if not condition and not re.search(reason, failed):
            raise ValueError(failed)

    for module in pkgutil.iter_modules(verix_checker.__path__):
        loaded = import_module(f"verix_checker.{module.name}")
        if hasattr(loaded, "require"):
            monkeypatch.setattr(loaded, "require", require)
