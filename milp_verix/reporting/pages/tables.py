"""Tables of a page: a caption, headings with their scope, numbers to the right."""

from collections.abc import Iterable, Sequence

from milp_verix.reporting.pages.markup import Html, element, joined

_LONG = 30
"""Characters of a text that gets room."""


def table(
    caption: str,
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    texts: int = 1,
    sortable: bool = False,
) -> Html:
    """Return a table; the first cell of a row is its heading.

    All but the first ``texts`` columns hold numbers. A ``sortable`` one gets buttons where a
    browser runs JavaScript.
    """

    def kind(column: int) -> str | None:
        return "number" if column >= texts else None

    head = joined(
        element("th", text, scope="col", class_=kind(column))
        for column, text in enumerate(headings)
    )
    body = joined(
        element(
            "tr",
            *(
                element("td", cell, class_=kind(column) or _room(cell))
                if column
                else element("th", cell, scope="row")
                for column, cell in enumerate(row)
            ),
        )
        for row in rows
    )
    return scrolled(
        caption,
        element(
            "table",
            element("caption", caption),
            element("thead", element("tr", head)),
            element("tbody", body),
            class_="sortable" if sortable else None,
        ),
    )


def _room(cell: str) -> str | None:
    return "long" if len(cell) > _LONG and not isinstance(cell, Html) else None


def facts_table(caption: str, facts: Iterable[tuple[str, str]]) -> Html:
    """Return pairs of a name and a text as a table of two columns without a head.

    A pair without a name goes on with the fact before.
    """
    rows = joined(
        element(
            "tr",
            element("th", name, scope="row") if name else element("td", ""),
            element("td", text),
        )
        for name, text in facts
    )
    inner = element("table", element("caption", caption), element("tbody", rows), class_="facts")
    return scrolled(caption, inner)


def scrolled(name: str, content: Html) -> Html:
    """Return ``content`` in a region of its own that scrolls sideways, so that the page does not.

    The keyboard reaches it: that is how it is scrolled without a pointer.
    """
    return element("div", content, class_="scroll", role="region", tabindex="0", aria_label=name)


def paged(pages: Sequence[tuple[str, Html]], *, open_: bool = True, class_: str = "page") -> Html:
    """Return titled pages that open and close, the first of them open."""
    return joined(
        element(
            "details",
            element("summary", title),
            content,
            class_=class_,
            open=open_ and place == 0,
        )
        for place, (title, content) in enumerate(pages)
    )
