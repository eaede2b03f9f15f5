"""Texts from elsewhere for terminals, tables and pages, without characters that give orders."""

import os
import shlex
from pathlib import Path
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


def check_command(*files: Path) -> str:
    r"""Return the command that checks the ``files`` of a model and its proof, to be pasted.

    Characters that are not seen, and spaces that pages join, are escapes that bash and zsh read.
    """
    return " ".join(["verix-check", *map(_argument, files)])


def _argument(file: Path) -> str:
    name = f"./{file}" if str(file).startswith("-") else str(file)
    if printable(name) == name and "  " not in name:
        return shlex.quote(name)
    plain = {*range(33, 127)} - {*b"\\'"}
    told = (chr(one) if one in plain else f"\\{one:03o}" for one in os.fsencode(name))
    return f"$'{''.join(told)}'"
