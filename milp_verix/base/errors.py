"""The exceptions that users see, and texts from elsewhere without characters that give orders."""

import os
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
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


_ONE = re.compile(
    r"(?<=[ (])1 ((?:input )?(?:feature|input|row|column|coordinate|value|number|output|rule|check|"
    r"cell|tree|word|pixel|image|pair|set|group|channel|name|part|dimension|class))(?:s|es)\b"
)
"""The plural of a noun behind a count of one."""
_MOST, _END = 400 - len("error: "), 150
"""Characters of a line behind "error: ", and of its end that stays if its middle is cut out."""


class MilpVerixError(Exception):
    """Base class of every error that milp-verix raises on purpose."""

    def __str__(self) -> str:
        """Return the message; characters in it that would command a terminal are escapes.

        A line of more than 393 characters keeps its beginning, and its end, where the remedy is. A
        noun that is counted once is in the singular.
        """
        lines = _ONE.sub(r"1 \1", printable(super().__str__(), "\n\t")).split("\n")
        return "\n".join(map(shortened, lines))


def shortened(line: str) -> str:
    """Return a line of an error with 393 characters at most: its beginning and its end."""
    return line if len(line) <= _MOST else f"{line[: _MOST - _END]} … {line[3 - _END :]}"


class InputError(MilpVerixError, ValueError):
    """An argument is not usable: wrong shape, NaN, ε < 0, label out of range, and the like."""


class ModelError(MilpVerixError):
    """The network file cannot be read: missing, truncated, not ONNX, or malformed."""


class UnsupportedOperatorError(ModelError):
    """The network holds an operator, or a use of one, that cannot be encoded exactly."""


class SolverError(MilpVerixError):
    """A solver failed: it crashed, returned garbage, or could not be run."""


class SolverUnavailableError(SolverError):
    """The solver asked for is not installed, or its binary or licence is missing."""


class LicenceLimitError(SolverError):
    """The program is larger than the solver's licence allows."""


_LONGEST = 250
"""Characters of another library's message, so that a line of an error has 400 at most."""


def said(error: Exception) -> str:
    """Return an error's message, without Python's advice where a file has a number too long."""
    return LONG_NUMBER if "set_int_max_str_digits" in str(error) else str(error)


LONG_NUMBER = "a whole number in it has thousands of digits"


def first_line(error: Exception) -> str:
    """Return the beginning of an error's message, 250 characters of a line, or its type if none."""
    told = (said(error).strip().splitlines() or [type(error).__name__])[0]
    return told if len(told) <= _LONGEST else f"{told[:_LONGEST]}…"


@contextmanager
def refusing(
    what: str, *errors: type[Exception], kind: type[MilpVerixError] = InputError
) -> Iterator[None]:
    """Raise an error of a ``kind`` that says ``what``, and why, in place of ``errors``.

    By default these are ``OSError``. An ``InputError`` is a ``ValueError``, too: a block for files
    stands around one for their content. What an error says already is not said twice.
    """
    caught = errors or (OSError,)
    try:
        yield
    except caught as error:
        why = str(getattr(error, "strerror", None) or said(error))
        raise kind(why if why.startswith(what) else f"{what}: {why}") from error
