"""Counts of one are told in the singular, in results and in errors."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from sklearn.tree import DecisionTreeClassifier

import milp_verix as mv

_NOUNS = "features|rows|rules|classes|radii|inputs|values|checks|columns|coordinates|runs|names"
_PLURAL = re.compile(rf"(?<![\w.,])(?:1|one) (?:\w+ )?(?:{_NOUNS}|features? (?:are|keep|have))\b")


def _texts(found: Any) -> str:
    """Return all that is told about a result."""
    told = [str(found), repr(found)]
    told += [found.sentence()] if hasattr(found, "sentence") else []
    told += [*getattr(found, "notes", ())]
    console = Console(width=500)
    with console.capture() as capture:
        for name in ("summary", "table"):
            if hasattr(found, name):
                console.print(getattr(found, name)())
    return "\n".join([*told, capture.get()])


@pytest.mark.parametrize("described", [False, True])
def test_one_of_each_is_told_in_the_singular(described: bool) -> None:
    frame = pd.DataFrame({"a": np.random.default_rng(0).random(40)})
    model = DecisionTreeClassifier(max_depth=1).fit(frame, frame.a > 0.5)
    asked: dict[str, Any] = {"epsilon": 0.9}
    if described:
        asked = {"epsilon": "inf", "inputs": mv.Inputs.from_frame(frame)}
    x, rows = frame.iloc[0], frame[:1]
    everything = {**asked}
    del everything["epsilon"]
    explanation = mv.explain(model, x, **asked)
    for found in (
        mv.Problem(model, x, **asked),
        mv.load_network(model),
        explanation,
        explanation.certify(mv.load_network(model)),
        mv.minimum(model, x, **asked),
        mv.contrastive(model, x, **asked),
        mv.inflate(model, x, rows=rows, **asked),
        mv.audit(model, x, [0], **asked),
        mv.check(model, x, [0], **asked),
        mv.importance(model, x, **asked),
        mv.relevance(model, x, feature=0, **asked),
        mv.find_rules(model, rows, count=1, **asked),
        mv.robustness_radius(model, x, each=True, **everything),
        mv.epsilon_sweep(model, x, epsilons=[0.2], **everything),
        mv.compare(model, x, solvers=["highs"], **asked),
    ):
        assert not _PLURAL.findall(_texts(found)), found


@pytest.mark.parametrize(
    "ask",
    [
        lambda model: mv.minimum(model, [0.1], epsilon=0.2, costs=[1, 2]),
        lambda model: mv.explain(model, [9.0], epsilon=0.2),
        lambda model: mv.explain(model, [0.1, 0.2], epsilon=0.2),
        lambda model: mv.explain(model, [0.1], epsilon=0.2, features=[[0, 0]]),
        lambda model: mv.explain(model, [0.1], epsilon=0.2, order=[0, 0]),
        lambda model: mv.explain(model, [0.1], epsilon=[0.1, 0.2]),
    ],
)
def test_one_of_each_is_in_the_singular_in_errors(ask: Callable[[Any], Any]) -> None:
    rows = np.random.default_rng(0).random((40, 1))
    model = DecisionTreeClassifier(max_depth=1).fit(rows, rows[:, 0] > 0.5)
    with pytest.raises(mv.InputError) as error:
        ask(model)
    assert not _PLURAL.findall(str(error.value))


def test_a_name_in_an_error_is_left_as_it_is() -> None:
    assert str(mv.InputError("has no “1 rows”, nor '1 features'")) == (
        "has no “1 rows”, nor '1 features'"
    )
    assert str(mv.InputError("(1 features, 11 rows, 1 classes, 2 values)")) == (
        "(1 feature, 11 rows, 1 class, 2 values)"
    )
