"""Two answers to one question are the same but for seconds, versions and the machine."""

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import milp_verix as mv

EXAMPLES = Path(__file__).parents[3] / "examples"
NETWORK = mv.load_network(EXAMPLES / "loan.onnx")
INPUTS = mv.Inputs.from_file(EXAMPLES / "loan.json")
APPLICANT = json.loads((EXAMPLES / "applicant.json").read_text(encoding="utf-8"))
ASKED: dict[str, Any] = {"inputs": INPUTS, "epsilon": "10%"}
GIVEN = (NETWORK, APPLICANT)

ANSWERS: dict[str, Callable[[], Any]] = {
    "check": lambda: mv.check(*GIVEN, free=["age", "debts"], **ASKED),
    "explain": lambda: mv.explain(*GIVEN, **ASKED),
    "minimum": lambda: mv.minimum(*GIVEN, **ASKED),
    "contrastive": lambda: mv.contrastive(*GIVEN, **ASKED),
    "enumerate": lambda: mv.enumerate_explanations(*GIVEN, **ASKED),
    "inflate": lambda: mv.inflate(*GIVEN, **ASKED),
    "audit": lambda: mv.audit(*GIVEN, explanation=["income"], **ASKED),
    "relevance": lambda: mv.relevance(*GIVEN, feature="income", **ASKED),
    "importance": lambda: mv.importance(*GIVEN, **ASKED),
    "radius": lambda: mv.robustness_radius(*GIVEN, inputs=INPUTS, scale="100%"),
    "sweep": lambda: mv.epsilon_sweep(*GIVEN, inputs=INPUTS, epsilons=["5%", "10%"]),
    "rules": lambda: mv.find_rules(NETWORK, [APPLICANT], count=1, **ASKED),
    "compare": lambda: mv.compare(*GIVEN, solvers="highs", most_checks=1, **ASKED),
}


@pytest.mark.parametrize("asked", ANSWERS)
def test_an_answer_asked_twice_is_the_same(asked: str) -> None:
    first, second = ANSWERS[asked](), ANSWERS[asked]()
    assert copy.deepcopy(first) == first
    assert first.same_answer(second)
    assert second.same_answer(first)


def test_another_answer_is_another() -> None:
    found = ANSWERS["explain"]()
    later = replace(
        found, versions={"python": "9"}, statistics=replace(found.statistics, seconds=99.0)
    )
    assert later != found
    assert later.same_answer(found)
    assert not found.same_answer(replace(found, notes=("another",)))
    assert not found.same_answer(replace(found, epsilon=found.epsilon / 2))
    assert not found.same_answer(ANSWERS["minimum"]())
    assert not found.same_answer(None)
