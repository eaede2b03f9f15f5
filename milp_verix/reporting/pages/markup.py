"""HTML made of elements; a text from outside is escaped where it becomes a part of one."""

from collections.abc import Iterable
from html import escape

_VOID = frozenset(("br", "img", "input", "link", "meta"))


class Html(str):
    """A text that is HTML already."""

    __slots__ = ()


def element(tag: str, *content: str, **attributes: str | float | bool | None) -> Html:
    """Return an element with ``content``, escaped unless it is :class:`Html`.

    The name of an attribute has ``_`` for ``-``, and one at its end where Python has the word:
    ``class_``, ``aria_label``. True gives it no value; None and False leave it out.
    """
    given = "".join(
        _attribute(name.rstrip("_").replace("_", "-"), value)
        for name, value in attributes.items()
        if value is not None and value is not False
    )
    if tag in _VOID:
        return Html(f"<{tag}{given}>")
    return Html(f"<{tag}{given}>{joined(content)}</{tag}>")


def joined(content: Iterable[str], separator: str = "") -> Html:
    """Return ``content`` as one piece of HTML, each text escaped unless it is HTML already."""
    return Html(
        separator.join(part if isinstance(part, Html) else escape(part) for part in content)
    )


def _attribute(name: str, value: str | float | bool) -> str:
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'
