"""Pieces of HTML for notebooks."""

from base64 import b64decode
from html.parser import HTMLParser
from io import BytesIO
from typing import Any

import pytest
from PIL import Image

from milp_verix import Explanation
from milp_verix.views.result_words import facts_of
from tests.support.handmade_results import made

VOID = {"img", "br", "meta"}


def case(**given: Any) -> Explanation:
    return made((1, 64), **{"explained": range(61), **given})


class Page(HTMLParser):
    """Collects text and pictures, and checks that what is opened is closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.pictures: list[dict[str, str | None]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag == "img":
            self.pictures.append(dict(attrs))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append(data)


@pytest.mark.slow
def test_html_holds_headline_facts_and_picture() -> None:
    explanation = case(notes=("a note",))
    page = Page(explanation._repr_html_())
    assert page.open == []
    assert page.texts[0] == "Prediction 2, explained by 61 of 64 features"
    assert page.texts[1:] == [text for fact in facts_of(explanation) for text in fact]
    (picture,) = page.pictures
    kind, data = str(picture["src"]).split(",")
    assert kind == "data:image/png;base64"
    with Image.open(BytesIO(b64decode(data, validate=True))) as decoded:
        decoded.load()
        assert decoded.width == pytest.approx(150 * explanation.plot().get_figwidth(), abs=1)


@pytest.mark.slow
def test_html_is_escaped() -> None:
    hostile = "<script>alert('x')</script>&\".onnx"
    explanation = case(explained=[1], undecided={0: "<i>"}, file=hostile, notes=("<b>",))
    page = Page(explanation._repr_html_())
    assert set(page.tags) == {"div", "h4", "img", "table", "tr", "th", "td"}
    assert f"{hostile} (SHA-256 0123456789ab…)" in page.texts
    assert "<b>" in page.texts
