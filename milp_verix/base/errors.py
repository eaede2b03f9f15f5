"""The exceptions that users see. Each message says what was seen, what was expected, what to do."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from milp_verix.base.printable import printable

_ONE = re.compile(
    r"(?<=[ (])1 ((?:input )?(?:feature|input|row|column|coordinate|value|number|output|rule|check|"
    r"cell|tree|word|pixel|image|pair|set|group|channel|name|part|dimension|class))(?:s|es)\b"
)
"""The plural of a noun behind a count of one."""
_MOST, _END = 400, 150
"""Characters of a line, and of its end that stays where its middle is cut out."""


class MilpVerixError(Exception):
    """Base class of every error that milp-verix raises on purpose."""

    def __str__(self) -> str:
        """Return the message; characters in it that would command a terminal are escapes.

        A line of more than 400 characters keeps its beginning, and its end, where the remedy is. A
        noun that is counted once is in the singular.
        """
        lines = _ONE.sub(r"1 \1", printable(super().__str__(), "\n\t")).split("\n")
        return "\n".join(
            line if len(line) <= _MOST else f"{line[: _MOST - _END]} … {line[3 - _END :]}"
            for line in lines
        )


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


def first_line(error: Exception) -> str:
    """Return the beginning of an error's message, 250 characters of a line, or its type if none."""
    told = (str(error).strip().splitlines() or [type(error).__name__])[0]
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
        why = str(getattr(error, "strerror", None) or error)
        raise kind(why if why.startswith(what) else f"{what}: {why}") from error
