"""The page around the parts: one file that needs no network, in light and in dark."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from string import Template

from milp_verix.reporting.figures.outline import MARK
from milp_verix.reporting.figures.style import INK, MUTED, Status
from milp_verix.reporting.pages.markup import Html, element, joined


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page with a heading; ``name`` is where links to it lead."""

    name: str
    heading: str
    content: Html


def page(title: str, lead: str, sections: Sequence[Section], version: str) -> str:
    """Return a whole HTML document with a table of contents.

    ``lead`` is the sentence below the title. ``version`` is that of milp-verix, for the last line.
    """
    links = (
        element("li", element("a", section.heading, href=f"#{section.name}"))
        for section in sections
    )
    body = (
        element("a", "Skip to the content", href="#content", class_="skip"),
        element("header", element("h1", title), element("p", lead, class_="lead")),
        element("nav", element("ul", *links), aria_label="Contents"),
        element("main", *map(_section, sections), id="content", tabindex="-1"),
        element("footer", element("p", f"Written by milp-verix {version}.")),
        element("script", Html(_text("page.js"))),
    )
    head = (
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("link", rel="icon", href="data:,"),
        element("style", Html(_style())),
    )
    whole = element("html", element("head", *head), "\n", element("body", *body), lang="en")
    return f"<!DOCTYPE html>\n{whole}\n"


def _section(section: Section) -> Html:
    heading = element("h2", section.heading, id=f"{section.name}-heading")
    return joined(
        (
            "\n",
            element(
                "section",
                heading,
                section.content,
                id=section.name,
                aria_labelledby=f"{section.name}-heading",
            ),
        )
    )


def _style() -> str:
    """Return the style sheet with the colours that the figures have."""
    colours = {status.value: status.colour for status in Status}
    return Template(_text("page.css")).substitute(ink=INK, muted=MUTED, mark=MARK, **colours)


def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
