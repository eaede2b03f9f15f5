"""The page of a decision: its reasons, their order, the changes, the proof, and its limits."""

import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import milp_verix
from milp_verix import (
    ContrastiveExplanation,
    InputError,
    Inputs,
    Ranges,
    binary,
    category,
    continuous,
    integer,
)
from milp_verix.views.notice import reasons_of
from tests.support.random_networks import as_layers, dense_network
from verix_checker.numbers import stored
from verix_checker.verification import verify

FEATURES = [
    integer("income", 10, 90, "thousand a year"),
    binary("arrears"),
    category("work", ["none", "some", "much"]),
    integer("age", 18, 75, only="up"),
]
CLASSES = ["refused", "granted"]
X = {"income": 20, "arrears": "yes", "work": "none", "age": 40}


def _asked(folder: Path) -> dict[str, Any]:
    # granted where income − 30 arrears + 5 work − 50 > 0, whatever age is
    network = dense_network(as_layers(([[0] * 4, [1, -30, 5, 0]], [0, -50.5])), folder)
    inputs = Inputs(FEATURES, class_names=CLASSES)
    return {"network": network, "x": X, "epsilon": np.inf, "inputs": inputs}


def _answers(folder: Path) -> tuple[Ranges, ContrastiveExplanation]:
    asked = _asked(folder)
    ranges = milp_verix.inflate(explanation=["income", "arrears", "work"], **asked)
    return ranges, milp_verix.contrastive(minimise="distance", count=3, must_not=["age"], **asked)


def _text(page: str) -> str:
    return " ".join(unescape(re.sub("<[^>]*>", " ", page.split("<main")[1])).split())


@pytest.mark.slow
def test_a_notice_has_reasons_changes_proof_and_limits(tmp_path: Path) -> None:
    ranges, contrast = _answers(tmp_path)
    path = tmp_path / "notice.html"
    page = milp_verix.write_notice(ranges, contrast, path)
    assert path.read_text(encoding="utf-8") == page
    text = _text(page)
    assert ranges.sentence() in text
    assert "It is no legal advice, and says nothing about any right or duty." in text
    assert "It does not say that the decision is right or fair" in text
    assert "a person may decide otherwise than the model" in text
    assert "Data that were wrong or left out are not seen by any proof." in text
    assert ranges.model.sha256 in text
    assert "the decision becomes “granted”" in text
    assert text.count("the decision becomes") == 1 + len(contrast.alternatives)
    nearest = "nearest change, as long as age is 40, by proof: none is nearer by more than 0.1 %."
    assert nearest in text
    assert "While these values stay as they are, the decision “refused” stays, whatever" in text
    without = _text(milp_verix.write_notice(ranges))
    assert "No change was looked for." in without
    assert "No file with the proof" in without


@pytest.mark.slow
def test_reasons_follow_importance_and_are_four_at_most(tmp_path: Path) -> None:
    ranges, _ = _answers(tmp_path)
    assert ranges.intervals["work"] == ("none", "some", "much")  # all of it is no reason
    names = ["arrears", "income"]
    given = {"arrears": -3.0, "work": 2.0, "income": 1.0}
    weights = {feature.name: given.get(feature.name, 0.0) for feature in FEATURES}
    listed = [*weights.values()]
    for importance in (weights, listed, np.array(listed)):
        page = milp_verix.write_notice(ranges, importance=importance)
        assert _reasons(page) == names
    for wrong in ([1.0], {"arrears": "much"}, 3):
        with pytest.raises(InputError, match="importance"):
            milp_verix.write_notice(ranges, importance=wrong)
    layers = as_layers(([[0] * 6, [1] * 6], [0, -5.5]))
    inputs = Inputs([binary(f"f{i}") for i in range(6)], class_names=["no", "yes"])
    many = milp_verix.inflate(
        dense_network(layers, tmp_path), np.ones(6), epsilon=np.inf, inputs=inputs
    )
    page = milp_verix.write_notice(many)
    assert len(_reasons(page)) == 4
    assert "Beside these, f4 and f5 are kept, too." in _text(page)


def _reasons(page: str) -> list[str]:
    reasons = re.findall("<li>(.*?)</li>", page.split("<ol")[1].split("</ol>", maxsplit=1)[0])
    return [reason.split()[0] for reason in reasons]


def test_what_makes_no_notice_is_refused(tmp_path: Path) -> None:
    ranges, contrast = _answers(tmp_path)
    asked = _asked(tmp_path)
    plain = milp_verix.inflate(asked["network"], ranges.input, [0, 1, 2], epsilon=0, domain=(0, 99))
    with pytest.raises(InputError, match="describe the input"):
        milp_verix.write_notice(plain)
    late = replace(ranges, ranges=(), unknown_reason="time limit")
    with pytest.raises(InputError, match="proven ranges"):
        milp_verix.write_notice(late)
    with pytest.raises(InputError, match="contrast must be"):
        milp_verix.write_notice(ranges, ranges)  # type: ignore[arg-type]
    assert contrast.proven


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"x": {**X, "age": 50}}, "its input differs"),
        ({"epsilon": 2}, "its epsilon is 2.0, in the ranges it is inf"),
        ({"epsilon": {"income": 5, "*": np.inf}}, "its radii is"),
        ({"against": "granted"}, "its against is .1,., in the ranges it is None"),
        ({"inputs": Inputs(FEATURES, class_names=["granted", "refused"])}, "its list of classes"),
        (
            {
                "inputs": Inputs([integer("salary", 10, 90), *FEATURES[1:]], class_names=CLASSES),
                "x": {**X, "salary": 20},
            },
            "its list of features is",
        ),
        (
            {"inputs": Inputs([integer("income", 10, 99), *FEATURES[1:]], class_names=CLASSES)},
            "its description differs",
        ),
        (
            {"inputs": Inputs(FEATURES, ["income <= 80"], class_names=CLASSES)},
            r"its rules is \('income <= 80',\), in the ranges it is \(\)",
        ),
    ],
)
def test_answers_to_other_questions_are_refused(
    change: dict[str, Any], told: str, tmp_path: Path
) -> None:
    ranges = milp_verix.inflate(explanation=[0, 1, 2], **_asked(tmp_path))
    other = {**_asked(tmp_path), **change}
    with pytest.raises(InputError, match=f"contrast is about another question.*: {told}"):
        milp_verix.write_notice(ranges, milp_verix.contrastive(**other))
    with pytest.raises(InputError, match=f"importance is about another question.*: {told}"):
        milp_verix.write_notice(ranges, importance=milp_verix.importance(**other))


def test_another_model_is_refused(tmp_path: Path) -> None:
    ranges = milp_verix.inflate(explanation=[0, 1, 2], **_asked(tmp_path))
    network = dense_network(as_layers(([[0] * 4, [1, -30, 5, 1]], [0, -90.5])), tmp_path)
    contrast = milp_verix.contrastive(**{**_asked(tmp_path), "network": network})
    with pytest.raises(InputError, match="its network's SHA-256 differs"):
        milp_verix.write_notice(ranges, contrast)


def test_directions_and_held_features_are_told(tmp_path: Path) -> None:
    asked = _asked(tmp_path)
    ranges = milp_verix.inflate(explanation=["income", "arrears", "work"], **asked)
    inputs = asked["inputs"].only({"income": "up"})
    contrast = milp_verix.contrastive(must_not=["arrears"], **{**asked, "inputs": inputs})
    text = _text(milp_verix.write_notice(ranges, contrast))
    assert (
        "This is the change of the fewest items, as long as arrears is yes and income and age only "
        "rise, by proof." in text
    )
    robust = milp_verix.contrastive(must_not=["income", "arrears"], **asked)
    text = _text(milp_verix.write_notice(ranges, robust))
    assert (
        "No change changes the prediction, as long as income is 20 thousand a year and arrears is "
        "yes and age only rises, by proof." in text
    )


def test_rivals_are_told(tmp_path: Path) -> None:
    layers = as_layers(([[0, 0, 0], [0, 3, 0], [0.7, 0, 0.7]], [0.5, -1.7, -0.8]))
    classes = ["refused", "granted", "pending"]
    inputs = Inputs([binary("a"), binary("b"), binary("c")], class_names=classes)
    asked: dict[str, Any] = {"epsilon": np.inf, "inputs": inputs, "against": "pending"}
    network = dense_network(layers, tmp_path)
    ranges = milp_verix.inflate(network, [0, 0, 0], **asked)
    found = milp_verix.contrastive(network, [0, 0, 0], **asked)
    text = _text(milp_verix.write_notice(ranges, found))
    least = "This is the change of the fewest items that raises “pending” above “refused”, by proof"
    assert least in text
    assert "is not overtaken by “pending”, whatever" in text
    assert "the decision “refused” against “pending” alone" in text
    assert found.counterfactual is not None
    assert "“pending” overtakes “refused” and the decision becomes" in text


@pytest.mark.parametrize("held", [{"sex": 0, "*": np.inf}, {"sex": 0.5, "*": np.inf}])
def test_held_features_make_no_difference_nowhere(held: dict[str, float], tmp_path: Path) -> None:
    network = dense_network(as_layers(([[0, 0], [1, -8]], [0, -3.5])), tmp_path)
    inputs = Inputs([integer("income", 0, 10), binary("sex")], class_names=["refused", "granted"])
    ranges = milp_verix.inflate(network, [9, 0], epsilon=held, inputs=inputs)
    text = _text(milp_verix.write_notice(ranges))
    assert "the decision “granted” stays, while sex stays as it is." in text
    assert "difference" not in text
    near = {"sex": 0, "income": 1e-9}
    robust = milp_verix.inflate(network, [9, 0], epsilon=near, inputs=inputs)
    text = _text(milp_verix.write_notice(robust))
    assert "No reason is listed" in text
    assert "stays, while income and sex stay as they are" in text


@pytest.mark.parametrize("kind", ["network", "trees"])
def test_the_page_and_the_checker_name_an_input_by_one_digest(kind: str, tmp_path: Path) -> None:
    if kind == "network":
        asked = _asked(tmp_path)
    else:
        rows = np.array([[income, 0, 0, age] for income in range(10, 91, 4) for age in (20, 70)])
        trees = DecisionTreeClassifier(max_depth=2).fit(rows, rows[:, 0] > 50)
        inputs = Inputs([integer("income", 10, 90), *(continuous(n, -1, 99) for n in "abc")])
        asked = {"network": trees, "inputs": inputs, "epsilon": np.inf}
        asked["x"] = {"income": 20, "a": -0.0, "b": 0.1, "c": 40}
    ranges = milp_verix.inflate(**asked)
    milp_verix.certify(asked["network"], ranges).to_json(tmp_path / "proof.json")
    model = next(iter([*tmp_path.glob("trees-*.json"), *tmp_path.glob("*.onnx")]))
    told = [*verify(*stored(model, tmp_path / "proof.json"))]
    assert f"input: SHA-256 {ranges.input_sha256}" in told
    assert ranges.input_sha256 in _text(milp_verix.write_notice(ranges))


def test_numbers_that_must_not_be_missing_are_no_free_ones() -> None:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"age": rng.integers(0, 9, 200), "debt": rng.random(200)})
    rows.loc[rng.random(200) < 0.4, "debt"] = np.nan
    model = DecisionTreeClassifier(max_depth=4, random_state=0)
    model.fit(rows, (rows.debt.isna() & (rows.age > 2)).astype(int))
    asked = {"epsilon": "inf", "inputs": milp_verix.Inputs.from_frame(rows, missing=["debt"])}
    row = rows.assign(age=8)[rows.debt.notna()].iloc[0]
    found = milp_verix.Problem(model, row, **asked).inflate()
    assert "debt is anything from" in found.sentence()
    assert 1 in [one.feature for one in reasons_of(found, None)]  # a missing debt changes it
