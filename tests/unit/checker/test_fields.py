"""The table of fields: what it takes, by type, and that the documents list all of it."""

import re
from fractions import Fraction
from typing import Any

import pytest

from milp_verix.schemas import json_schema
from tests.support.hand_made import explained
from tests.support.repository import ROOT
from verix_checker import fields


def test_the_documents_list_all_fields() -> None:
    text = (ROOT / "docs" / "certificates.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.*?) \|", text[text.index("## The file") :], re.MULTILINE)
    told = {key for row in rows for key in re.findall(r"`(.*?)`", row)}
    claimed = {f"claim.{name}" for name in fields.CLAIMED | fields.MORE}
    assert told == claimed | (fields.PROVEN | fields.BESIDE).keys() - {"claim"}


def test_the_schema_has_the_same_fields() -> None:
    schema = json_schema("certificate")["properties"]
    assert schema.keys() == fields.PROVEN.keys() | fields.BESIDE.keys()
    assert schema["claim"]["properties"].keys() == fields.CLAIMED.keys() | fields.MORE.keys()
    assert {*schema["claim"]["required"]} == fields.CLAIMED.keys()


def test_a_claim_that_was_read_is_read_again_as_the_same() -> None:
    claim = fields.CLAIM(explained()[1]["claim"])
    assert fields.CLAIM(claim) == claim
    assert claim["importance"]["shapley"][0] == [Fraction(1, 3)] * 2


@pytest.mark.parametrize(
    ("kind", "taken", "refused"),
    [
        (fields.count, [0, 7], [-1, True, 1.0, "1", None, [1]]),
        (fields.WHOLE, [0, -7], [False, 1.0, "1", None]),
        (fields.exact, [1, 0.5, "1/2", "-3", "1e9"], [True, None, [], "1/0", "inf", 1e400, "1 "]),
        (fields.END, [None, "1/2"], [False, "", float("nan")]),
        (fields.coordinate, ["-", ".", "+", 1, "1/2"], ["--", "", None, True, ["-"]]),
        (fields.signs, ["", "-.+"], ["0", "-,", None, ["-"]]),
        (fields.different, [[], [1, 0]], [[1, 1], [-1], [True], "12", {"1": 2}, None]),
        (fields.two(fields.exact), [[0, 1]], [[0], [0, 1, 2], "01", {"0": 1, "1": 2}]),
        (fields.listed(fields.END, fields.exact), [1, [1, None]], [None, [True], {"0": 1}]),
        (fields.numbered(fields.exact), [{}, {"0": 1}], [{"00": 1}, {"-1": 1}, {"a": 1}, [1]]),
        (fields.FLAG, [True, False], [0, 1, "true", None]),
    ],
)
def test_a_kind_takes_its_type_alone(
    kind: fields.Kind, taken: list[Any], refused: list[Any]
) -> None:
    for given in taken:
        kind(given)
    for given in refused:
        with pytest.raises(ValueError):  # noqa: PT011
            kind(given)


def test_a_deep_tree_is_read_to_its_end() -> None:
    tree: dict[str, Any] = {"slops": {}}
    for _ in range(5000):
        tree = {"input": 0, "at": 0, "below": {}, "above": tree}
    with pytest.raises(ValueError, match="slops"):
        fields.CASES([tree])
