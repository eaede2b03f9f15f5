"""The page of a decision: its reasons, their order, the changes, the proof, and its limits."""

import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import milp_verix
from milp_verix import ContrastiveExplanation, InputError, Inputs, Ranges, binary, category, integer
from milp_verix.reporting.words.notice import LIMITS
from tests.support.random_networks import as_layers, dense_network

FEATURES = [
    integer("income", 10, 90, "thousand a year"),
    binary("arrears"),
    category("work", ["none", "some", "much"]),
    integer("age", 18, 75, only="up"),
]
X = {"income": 20, "arrears": "yes", "work": "none", "age": 40}


def _asked(folder: Path) -> dict[str, Any]:
    # granted where income − 30 arrears + 5 work − 50 > 0, whatever age is
    network = dense_network(as_layers(([[0] * 4, [1, -30, 5, 0]], [0, -50.5])), folder)
    inputs = Inputs(FEATURES, class_names=["refused", "granted"])
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
    page = milp_verix.write_notice(ranges, contrast, path, certificate=tmp_path / "proof.json")
    assert path.read_text(encoding="utf-8") == page
    text = _text(page)
    assert ranges.sentence() in text
    assert all(limit in text for limit in LIMITS)
    assert "no legal advice" in text
    assert "verix-check model.onnx proof.json" in text
    assert ranges.model.sha256 in text
    assert "the decision becomes “granted”" in text
    assert text.count("the decision becomes") == 1 + len(contrast.alternatives)
    assert "as long as age stays as it is: none is nearer by more than 0.1 %, by proof" in text
    assert "the other 1 item makes no difference" in text
    without = _text(milp_verix.write_notice(ranges))
    assert "No change was looked for." in without
    assert "No file with the proof" in without


@pytest.mark.slow
def test_reasons_follow_importance_and_are_four_at_most(tmp_path: Path) -> None:
    ranges, _ = _answers(tmp_path)
    names = ["arrears", "work", "income"]
    weights = {"arrears": -3.0, "work": 2.0, "income": 1.0}
    listed = [weights.get(feature.name, 0.0) for feature in FEATURES]
    for importance in (weights, listed, np.array(listed)):
        page = milp_verix.write_notice(ranges, importance=importance)
        reasons = re.findall("<li>(.*?)</li>", page.split("<ol")[1].split("</ol>")[0])
        assert [reason.split()[0] for reason in reasons] == names
    for wrong in ([1.0], {"arrears": "much"}, 3):
        with pytest.raises(InputError, match="importance"):
            milp_verix.write_notice(ranges, importance=wrong)
    layers = as_layers(([[0] * 6, [1] * 6], [0, -5.5]))
    inputs = Inputs([binary(f"f{i}") for i in range(6)], class_names=["no", "yes"])
    many = milp_verix.inflate(
        dense_network(layers, tmp_path), np.ones(6), epsilon=np.inf, inputs=inputs
    )
    page = milp_verix.write_notice(many)
    assert page.split("<ol")[1].split("</ol>")[0].count("<li>") == 4
    assert "Beside these, f4 and f5 have a part in it." in _text(page)


def test_what_makes_no_notice_is_refused(tmp_path: Path) -> None:
    ranges, contrast = _answers(tmp_path)
    asked = _asked(tmp_path)
    other = milp_verix.contrastive(**{**asked, "x": {**X, "age": 50}})
    with pytest.raises(InputError, match="another input"):
        milp_verix.write_notice(ranges, other)
    plain = milp_verix.inflate(asked["network"], ranges.input, [0, 1, 2], epsilon=0, domain=(0, 99))
    with pytest.raises(InputError, match="describe the input"):
        milp_verix.write_notice(plain)
    late = replace(ranges, ranges=(), unknown_reason="time limit")
    with pytest.raises(InputError, match="proven ranges"):
        milp_verix.write_notice(late)
    with pytest.raises(InputError, match="contrast must be"):
        milp_verix.write_notice(ranges, ranges)  # type: ignore[arg-type]
    assert contrast.proven
