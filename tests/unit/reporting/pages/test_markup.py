from milp_verix.reporting.pages.markup import Html, element, joined
from tests.support.pages import HOSTILE, parsed


def test_texts_and_attributes_are_escaped_once() -> None:
    page = parsed(element("p", HOSTILE, element("b", "a & b"), title=HOSTILE))
    assert page.inside[0].text == HOSTILE
    assert page.inside[0].attributes == {"title": HOSTILE}
    assert page.inside[0].inside[0].text == "a & b"
    assert len(page.every()) == 3


def test_attributes_have_the_names_of_html() -> None:
    made = element("td", "x", class_="number", aria_label="y", hidden=True, id=None, open=False)
    assert made == '<td class="number" aria-label="y" hidden>x</td>'
    assert element("br") == "<br>"


def test_pieces_that_are_html_stay_as_they_are() -> None:
    assert joined(("a<b", Html("<i>c</i>")), " ") == "a&lt;b <i>c</i>"
