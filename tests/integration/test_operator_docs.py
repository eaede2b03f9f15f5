"""The table of operators in the documentation is the registry's."""

import re

import pytest

from milp_verix.onnx_reader.folding import FOLDED
from milp_verix.onnx_reader.operators.refusals import refusals
from milp_verix.onnx_reader.registry import operators
from tests.support.repository import ROOT

PAGE = ROOT / "docs" / "operators.md"


def listed(section: str) -> set[str]:
    """Return the operators in the first column of the table in ``section``."""
    text = PAGE.read_text(encoding="utf-8").split(f"## {section}\n")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    assert rows
    return set(re.findall(r"`([A-Za-z0-9.]+)`", " ".join(rows)))


def registered(*modules: str) -> set[str]:
    return {
        name
        for name, entry in operators.items()
        if entry.function.__module__.rpartition(".")[2] in modules
    }


def test_operators_left_out_at_the_end() -> None:
    written_off_the_scores = {"Concat", "ZipMap", "ArgMax"}
    assert listed("Left out at the end") - written_off_the_scores == registered("tails")


def test_operators_that_are_enclosed() -> None:
    assert listed("Enclosed") - {"Erf"} == registered("smooth") | {"Sigmoid"}


def test_operators_that_are_exact() -> None:
    assert listed("Exact") == set(operators) - registered("tails", "smooth")


def test_operators_that_are_refused() -> None:
    assert listed("Refused") == set(refusals)


def test_operators_on_constants() -> None:
    assert listed("Constants") == FOLDED


def test_no_operator_is_both_supported_and_refused() -> None:
    assert not set(operators) & set(refusals)


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_the_page_is_found(name: str) -> None:
    text = (PAGE.parents[1] / name).read_text(encoding="utf-8")
    assert "docs/operators.md" in text
