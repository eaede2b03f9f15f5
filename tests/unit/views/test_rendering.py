import jinja2
import pytest

from milp_verix.views.rendering import Cell, PageTable, View, environment, rendered
from tests.support.pages import HOSTILE, viewed


def test_texts_and_attributes_are_escaped_once() -> None:
    table = PageTable(HOSTILE, [HOSTILE, "a & b"], [[Cell(HOSTILE, status=HOSTILE), HOSTILE]])
    page = viewed(View(table=table, note=HOSTILE))
    assert page.inside[0].attributes["aria-label"] == HOSTILE
    assert [one.text for one in page.all("caption", "th", "td", "p")] == [
        *(HOSTILE, HOSTILE, "a & b", "", HOSTILE, HOSTILE)
    ]
    assert page.all("span")[0].attributes["class"] == f"status {HOSTILE}"
    assert not page.all("script", "img")


def test_nothing_in_a_template_is_taken_for_html() -> None:
    for name in environment().list_templates():
        source = environment().loader.get_source(environment(), name)[0]  # type: ignore[union-attr]
        assert "safe" not in source
        assert "autoescape" not in source


def test_a_name_that_is_not_given_is_an_error() -> None:
    with pytest.raises(jinja2.UndefinedError, match="is undefined"):
        rendered("notebook.html", title="a")


def test_long_texts_get_room_and_numbers_stand_to_the_right() -> None:
    table = PageTable("c", ["a", "b", "c"], [["x", "long " * 9, "1"]], texts=2)
    assert [cell.kind for cell in next(table.lines())] == ["", "long", "number"]
