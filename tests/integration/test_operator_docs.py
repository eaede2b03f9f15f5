"""The tables of operators in the documentation are the reader's."""

import inspect
import sys

import pytest

from milp_verix.models.onnx.registry import every_operator, refusals
from tests.support.repository import ROOT

sys.path.append(str(ROOT / "docs"))

from operator_tables import PAGE, tables, written


def test_the_page_is_as_written_from_the_reader() -> None:
    """``python docs/operator_tables.py`` writes it anew."""
    page = PAGE.read_text(encoding="utf-8")
    assert page == written(page)


def test_each_operator_stands_in_a_table() -> None:
    found = tables()
    assert all(f"`{name}`" in found["read"] for name in every_operator())
    assert all(f"`{name}`" in found["refused"] for name in refusals)


def test_no_operator_is_both_supported_and_refused() -> None:
    assert not set(every_operator()) & set(refusals)


def test_contributing_shows_a_function_of_the_reader() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert f"```python\n{inspect.getsource(every_operator()['Swish'].function)}```" in text


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_the_page_is_found(name: str) -> None:
    text = (PAGE.parents[1] / name).read_text(encoding="utf-8")
    assert "docs/operators.md" in text
