"""The exceptions that users see, and the texts, names and values that their messages tell."""

import os
import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from itertools import accumulate
from pathlib import Path
from typing import Any
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
    characters = (chr(one) if one in plain else f"\\{one:03o}" for one in os.fsencode(name))
    return f"$'{''.join(characters)}'"


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


_PLAIN = (
    (r"(?s)could not convert string to float: (.*)", "{} is no number"),
    (r"float\(\) argument must be .*, not '([\w.]+)'", "an object of the class {} is no number"),
    (r"'([\w.]+)' object is not iterable", "an object of the class {} is no list"),
    (r"'([\w.]+)' object cannot be .* integer", "an object of the class {} is no whole number"),
)
"""What Python says of values of other kinds, and what it means."""


def said(error: BaseException) -> str:
    """Return an error's message, in plain words where Python reads no number, or no list."""
    text = str(error)
    for pattern, plain in _PLAIN:
        if match := re.fullmatch(pattern, text):
            return plain.format(match[1])
    return LONG_NUMBER if "set_int_max_str_digits" in text else text


LONG_NUMBER = "a whole number in it has thousands of digits"


def first_line(error: BaseException) -> str:
    """Return the beginning of an error's message, 250 characters of a line, or its type if none."""
    text = (said(error).strip().splitlines() or [type(error).__name__])[0]
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


@contextmanager
def refusing(
    what: str,
    *errors: type[Exception],
    kind: type[MilpVerixError] = InputError,
    brief: bool = False,
) -> Iterator[None]:
    """Raise an error of a ``kind`` that says ``what``, and why, in place of ``errors``.

    By default these are ``OSError``. An ``InputError`` is a ``ValueError``, too: a block for files
    stands around one for their content. What an error says already is not said twice; where it is
    ``brief``, its first line is told.
    """
    caught = errors or (OSError,)
    try:
        yield
    except caught as error:
        why = first_line(error) if brief else str(getattr(error, "strerror", "") or said(error))
        raise kind(why if why.startswith(what) else f"{what}: {why}") from error


_LONGEST_VALUE, _LONGEST_LIST, _MOST_NAMES, _FEW = 60, 180, 20, 5


def closest(given: str, known: Collection[str]) -> str | None:
    """Return the name in ``known`` that ``given`` may stand for; None if no name is close.

    Three letters may stand for the only name that begins with them.
    """
    by_form = {name.strip().casefold(): name for name in known}
    form = given.strip().casefold()
    close = [form] if form in by_form else get_close_matches(form, by_form, n=1, cutoff=0.66)
    longer = [one for one in by_form if len(form) > 2 and one.startswith(form)]
    return by_form[(close or longer)[0]] if close or len(longer) == 1 else None


def listed(names: Collection[str], most: int = _MOST_NAMES) -> str:
    """Return names with commas between, in about a line and ``most`` at most, then their count."""
    texts = [name if len(name) <= _LONGEST_VALUE else f"{name[:_LONGEST_VALUE]}…" for name in names]
    ends = accumulate(len(text) + 2 for text in texts[:most])
    fit = max(1, sum(end <= _LONGEST_LIST for end in ends))
    some = ", ".join(texts[:fit])
    return some if len(texts) <= fit else f"{some}, … ({len(texts)} in all)"


def different_names(expected: Collection[str], given: Collection[str]) -> str:
    """Return which ``expected`` names are missing among those ``given``, and which are extra.

    Such as ``"missing: age, debt; extra: id"``, five names of each at most; empty if none is.
    Names are the same, or refused, as by :func:`same_names`.
    """
    found = same_names(expected, given)
    used = {*found.values()}
    missing = [name for name in expected if name not in found]
    extra = [name for name in given if name not in used]
    sides = (("missing", missing), ("extra", extra))
    return "; ".join(f"{side}: {listed(names, _FEW)}" for side, names in sides if names)


def same_names(wanted: Collection[str], given: Collection[str]) -> dict[str, str]:
    """Return the one of ``given`` that each name ``wanted`` is; a name that is none is left out.

    LightGBM stores spaces as underscores, so names that differ by these alone are the same. If two
    such names are wanted, each is itself alone. Raises ``InputError`` where two may be meant.
    """
    forms = defaultdict[str, list[str]](list)
    for name in given:
        forms[_form(name)].append(name)
    counts, found = Counter(map(_form, wanted)), dict[str, str]()
    for name in wanted:
        close = forms.get(_form(name), [])
        if counts[_form(name)] > 1 or (" " in name and name in close):
            close = [one for one in close if one == name]
        if len(close) > 1:
            raise InputError(
                f"{' and '.join(map(repr, close))} differ by spaces and underscores alone, and "
                f"either may be {name!r}: leave one of them out, or rename it"
            )
        if close:
            found[name] = close[0]
    return found


def own_names(
    given: Iterable[Hashable], known: Collection[str], what: str = "feature"
) -> dict[Any, str]:
    """Return the one of ``known`` that each label ``given`` is, as by :func:`same_names`.

    A label that is no text stands for its text. Raises ``InputError`` that calls names ``what`` for
    a label that is none of them, and where two may be meant.
    """
    texts = {label: str(label) for label in given}
    if len(texts) == 1 and {*texts.values()} <= {*known}:
        return texts
    found = {text: name for name, text in same_names(known, dict.fromkeys(texts.values())).items()}
    for label, text in texts.items():
        if text not in found:
            raise InputError(
                f"there is no {what} {shown(label)}; there are {listed(known)}{meant(text, known)}"
            )
    return {label: found[text] for label, text in texts.items()}


def _form(name: str) -> str:
    return name.replace(" ", "_")


def shown(value: Any) -> str:
    """Return a value as Python writes it, shortened where it is long."""
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # a whole number of too many digits
        return "a number of thousands of digits"
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"


def require_one_of(known: Collection[str], given: Any, what: str, others: str = "") -> None:
    """Raise ``InputError`` that tells all names, and ``others``, unless ``given`` is ``known``."""
    if not isinstance(given, str) or given not in known:
        text = f"unknown {what} {shown(given)}; choose one of {listed(known)}{others}"
        raise InputError(text + meant(str(given), known))


def meant(given: str, known: Collection[str]) -> str:
    """Return the words that suggest the name closest to ``given``, none if no name is close."""
    close = closest(given, known)
    return "" if close is None else f"; did you mean {close!r}?"
