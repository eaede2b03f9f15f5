"""Features that were held are named as held: no sentence, table or picture counts them as free."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.lines import Line2D
from matplotlib.text import Text

import milp_verix
from milp_verix import InputError, Inputs, binary, category, continuous, fixed, integer
from milp_verix.results.base import Result
from milp_verix.results.json_format import StoredResult
from milp_verix.views.result_words import facts_of, outcome, sentence, title
from tests.support.random_networks import as_layers, dense_network

# granted where income − 8 sex > 3.5: sex alone turns granted into refused; debt plays no part
LAYERS = as_layers(([[0, 0, 0], [1, -8, 0]], [0, -3.5]))
INCOME, DEBT = integer("income", 0, 10), integer("debt", 0, 10)
HELD: list[tuple[Any, Any]] = [
    (fixed("sex"), np.inf),
    (binary("sex"), {"sex": 0, "*": np.inf}),
    (binary("sex"), {"sex": 0.5, "*": np.inf}),
    (category("sex", ["male", "female"]), {"sex": 0.9, "*": np.inf}),
    (continuous("sex", 0, 0), np.inf),
    (integer("sex", 0, 0), np.inf),
]


def _asked(sex: Any, epsilon: Any, folder: Path) -> dict[str, Any]:
    inputs = Inputs([INCOME, sex, DEBT], class_names=["refused", "granted"])
    network = dense_network(LAYERS, folder)
    return {"network": network, "x": [9, 0, 1], "epsilon": epsilon, "inputs": inputs}


def _texts(result: StoredResult) -> list[str]:
    """Return all texts on a result that a user gets, its picture's among them."""
    facts = [f"{name} {text}" for name, text in facts_of(result)]
    told = [title(result), outcome(result), sentence(result), *facts]
    if hasattr(result, "plot"):
        told += [text.get_text() for text in result.plot().findobj(Text)]
    return [text for text in told if text]


def _results(asked: dict[str, Any]) -> dict[str, Result]:
    return {
        "explain": milp_verix.explain(**asked),
        "minimum": milp_verix.minimum(**asked),
        "contrastive": milp_verix.contrastive(**asked),
        "nearest": milp_verix.contrastive(minimise="distance", **asked),
        "robust": milp_verix.contrastive(must_not=["income"], **asked),
        "enumerate": milp_verix.enumerate_explanations(**asked),
        "importance": milp_verix.importance(**asked),
        "audit": milp_verix.audit(explanation=["income", "sex"], **asked),
        "relevance": milp_verix.relevance(feature="debt", **asked),
        "inflate": milp_verix.inflate(**asked),
    }


@pytest.mark.parametrize(("sex", "epsilon"), HELD)
def test_each_result_names_what_was_held(sex: Any, epsilon: Any, tmp_path: Path) -> None:
    asked = _asked(sex, epsilon, tmp_path)
    for name, found in _results(asked).items():
        assert "sex stays as it is" in sentence(found), (name, sentence(found))
        facts = dict(facts_of(found))
        assert facts["stays as it is"].startswith("1 feature without room: sex"), name


@pytest.mark.parametrize(("sex", "epsilon"), HELD[:4])
def test_nothing_is_told_of_the_part_of_what_was_held(
    sex: Any, epsilon: Any, tmp_path: Path
) -> None:
    asked = _asked(sex, epsilon, tmp_path)
    found = milp_verix.importance(**asked, beside=[0.1, 0.9, 0.0])
    assert found.sentence() == (
        "The importance of features for the decision “granted” (Shapley value) is 1 for income; 0 "
        "for the other feature. These values are exact. The given scores order no pair of features "
        "otherwise than proven of the Shapley value for the decision “granted”. This holds while "
        "sex stays as it is."
    )
    assert found.misordered == ()
    assert not any(text.startswith("sex") for text in _texts(found))
    assert "importance of 2 features" in title(found)

    held = milp_verix.relevance(feature="sex", **asked)
    for text in _texts(held):
        assert "no part" not in text
        assert "no minimal" not in text
    assert "sex stays as it is: no input in question changes it" in title(held)
    both = milp_verix.relevance(feature=["sex", "debt"], **asked)
    assert both.sentence().startswith("In the decision “granted”, debt plays no part: no minimal")
    assert "Decision “granted”: debt is irrelevant" in title(both)

    audit = milp_verix.audit(explanation=["income", "sex"], **asked)
    assert audit.sentence() == (
        f"The decision “granted” stays, whatever debt is, as long as income is 9 and sex is "
        f"{audit.inputs.texts(audit.input)[1] if audit.inputs else ''}. sex stays as it is: no "
        "input in question changes it. The other one can’t be left out."
    )
    assert outcome(audit) == "minimal: no feature with room to change can be left out"
    assert "can be left out" not in _texts(audit)  # a colour of the picture
    large = milp_verix.audit(explanation=["income", "sex", "debt"], **asked)
    assert "It does so without debt, too." in large.sentence()
    assert "too large by 1 feature" in outcome(large)
    assert dict(facts_of(large))["left out"] == "debt = 1"


def _bars(result: milp_verix.ContrastiveExplanation) -> list[tuple[float, float]]:
    """Return the ends of the bars beside the features, without that of the legend."""
    lines = [line for line in result.plot().findobj(Line2D) if line.get_linewidth() == 6]
    ends = [tuple(np.asarray(line.get_xdata(), dtype=float)) for line in lines[1:]]
    return [(low, high) for low, high in ends]


def test_pictures_show_what_was_held_apart(tmp_path: Path) -> None:
    asked = _asked(*HELD[1], tmp_path)
    for found in _results(asked).values():
        if isinstance(found, milp_verix.Audit | milp_verix.Explanation):
            assert "stays as it is" in _texts(found)
    robust = milp_verix.contrastive(must_not=["income"], **asked)
    assert robust.robust
    assert "stays as it is" in _texts(robust)
    assert len(_bars(robust)) == 1  # of debt alone: income and sex are held
    directed = asked["inputs"].only({"debt": "up"})
    rising = milp_verix.contrastive(must_not=["income"], **{**asked, "inputs": directed})
    (before,), (after,) = _bars(robust), _bars(rising)
    assert (before[0] < after[0], before[1]) == (True, after[1])
    audit = milp_verix.audit(explanation=["income"], **asked)
    assert "stays as it is" in _texts(audit)
    radii = milp_verix.robustness_radius(
        asked["network"], asked["x"], each=True, inputs=asked["inputs"], scale={"sex": 0, "*": 1}
    )
    assert "stays as it is" in _texts(radii)
    assert "irrelevant at all radii" in _texts(radii)


def test_radii_and_sweeps_name_what_was_held(tmp_path: Path) -> None:
    asked = _asked(fixed("sex"), np.inf, tmp_path)
    question = asked["network"], asked["x"]
    sweep = milp_verix.epsilon_sweep(*question, epsilons=[3, 1], inputs=asked["inputs"])
    assert "This holds while sex stays as it is." in sweep.sentence()
    together = milp_verix.robustness_radius(*question, inputs=asked["inputs"])
    assert "while sex stays as it is" in together.sentence()
    alone = milp_verix.robustness_radius(*question, each=True, inputs=asked["inputs"])
    assert alone.sentence() == (
        "If one feature changes alone, the decision “granted” stays: whatever debt is; income by "
        "up to 5."
    )
    assert "irrelevant 1 of 3 features, within ε = 9 in each feature's unit" in _texts(alone)
    held = milp_verix.robustness_radius(
        *question, each=True, inputs=[fixed("income"), fixed("sex"), fixed("debt")]
    )
    assert held.sentence() == (
        "income, sex and debt stay as they are: no input in question changes them."
    )


def test_a_radius_that_is_nearly_nothing_is_told(tmp_path: Path) -> None:
    asked = _asked(continuous("sex", 0, 1), {"sex": 1e-6, "*": np.inf}, tmp_path)
    for name, found in _results(asked).items():
        assert "sex within ±1e-6 of 0" in sentence(found), name


def test_old_results_with_pairs_of_held_features_are_read(tmp_path: Path) -> None:
    asked = _asked(*HELD[0], tmp_path)
    found = milp_verix.importance(**asked, beside=[0.1, 0.9, 0.0])
    data = {**json.loads(found.to_json()), "misordered": [[1, 0]]}
    assert milp_verix.Importance.from_json(json.dumps(data)).misordered == ()
    free = milp_verix.importance(**_asked(binary("sex"), np.inf, tmp_path), beside=[0.1, 0.9, 0])
    data = {**json.loads(free.to_json()), "misordered": [[1, 0]]}
    with pytest.raises(InputError, match="misordered"):
        milp_verix.Importance.from_json(json.dumps(data))


def test_scores_are_ordered_otherwise_than_proven_of_what_was_asked(tmp_path: Path) -> None:
    asked = _asked(binary("sex"), {"income": 2, "*": np.inf}, tmp_path)
    found = milp_verix.importance(**asked, beside=[0.5, 0.1, 0.9])
    told = (
        "The given scores order 2 pairs of features otherwise than proven of the Shapley value for "
        "the decision “granted”: such as income before sex. This holds with income within ±2 of 9."
    )
    assert told in found.sentence()
    assert dict(facts_of(found))["ordered otherwise"].startswith("by the given scores than proven")
    assert "contradict" not in " ".join(_texts(found))
    assert "wrong" not in " ".join(_texts(found))


def test_a_set_of_another_description_goes_by_name(tmp_path: Path) -> None:
    asked = _asked(binary("sex"), np.inf, tmp_path)
    found = milp_verix.explain(**asked)
    other = Inputs([integer("wage", 0, 10), *asked["inputs"].features[1:]])
    with pytest.raises(InputError, match="income"):
        milp_verix.audit(asked["network"], [9, 0, 1], found, epsilon=np.inf, inputs=other)
