"""Texts from elsewhere for terminals, tables and pages, without characters that give orders."""

from unicodedata import category

_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_JOINERS = "\u200c\u200d"
"""Characters without a width that words and emoji are written with."""


def printable(text: str, kept: str = "") -> str:
    r"""Return ``text`` with escapes for characters that are not seen, and may move or hide others.

    Such as ``\x1b`` and ``\u202e``: control and format characters, separators of lines, halves of
    pairs. Those in ``kept`` stay.
    """
    if text.isprintable():
        return text
    return "".join(
        one.encode("unicode_escape").decode()
        if category(one) in _UNSEEN and one not in _JOINERS + kept
        else one
        for one in text
    )
