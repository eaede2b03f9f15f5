"""The rows of a picture of a described input, each with a track of its own; lines of a message."""

from typing import Any, NamedTuple

import numpy as np

from milp_verix.base.errors import printable
from milp_verix.base.number_text import exact, nearest
from milp_verix.inputs.feature import Feature
from milp_verix.inputs.radii import radii_of_coordinates
from milp_verix.results.base import Counterfactual, Result
from milp_verix.views.feature_status import Status
from milp_verix.views.style import INK, MARGIN, Sheet, typeset
from milp_verix.views.wording import shortened
from verix_encodings.arrays import FloatArray

LINE = 0.21
_SIZE = 10.0
_LETTER = 0.602 * _SIZE / 72
"""Width of a letter of DejaVu Sans Mono, in inches."""
_MOST_LINES = 24

TextLine = list[tuple[int, str, bool]]


def lines_of(parts: list[tuple[str, bool]], width: float) -> list[TextLine]:
    """Return the lines of a text on a sheet: pieces with their first column, marked or not."""
    letters = [
        (" " if one.isspace() else one, marked)
        for text, marked in parts
        for one in printable(text, "\n\t")
    ]
    most, lines, start = int((width - 2 * MARGIN) / _LETTER), list[TextLine](), 0
    while start < len(letters) and len(lines) < _MOST_LINES:
        stop = min(start + most, len(letters))
        if stop < len(letters):
            spaces = [k for k in range(start + 1, stop + 1) if letters[k][0] == " "]
            stop = spaces[-1] if spaces else stop
        line: TextLine = []
        apart = True  # each word has its place: letters are not quite as wide as they should be
        for column, (letter, marked) in enumerate(letters[start:stop]):
            if not apart and letter != " " and line[-1][2] == marked:
                line[-1] = (line[-1][0], line[-1][1] + letter, marked)
            elif letter != " ":
                line.append((column, letter, marked))
            apart = letter == " "
        lines.append(line)
        start = stop + (stop < len(letters) and letters[stop][0] == " ")
    if start < len(letters):
        lines.append([(0, "…", False)])
    return lines


def write_lines(sheet: Sheet, top: float, lines: list[TextLine]) -> None:
    """Write the lines from ``top`` on, marked pieces on colour."""
    box = {"facecolor": Status.EXPLANATION.colour, "edgecolor": "none", "pad": 1.2}
    for number, line in enumerate(lines):
        for column, text, marked in line:
            # boxes stand behind the letters beside them
            style: dict[str, Any] = {"color": "white", "bbox": box} if marked else {"color": INK}
            sheet.text(
                MARGIN + column * _LETTER,
                top + number * LINE,
                text,
                fontsize=_SIZE,
                family="DejaVu Sans Mono",
                zorder=2 if marked else 3,
                **style,
            )


_LONGEST_NAME, _LONGEST_VALUE, _LONGEST_END = 26, 24, 11


class Track(NamedTuple):
    """The range of one feature as numbers from 0 to 1, with words for its ends.

    ``at`` is the place of the value, ``headroom`` the part of the track that the ball allows,
    ``to`` the place of another value or None. ``stops`` are the places of words, empty for numbers.
    ``ordered`` is False where the places of words mean nothing.
    """

    at: float
    headroom: tuple[float, float]
    to: float | None
    stops: tuple[float, ...]
    ends: tuple[str, str]
    ordered: bool = True


class DescribedRow(NamedTuple):
    """A feature of a described input: its name, value, track, and the words of another value."""

    feature: int
    name: str
    value: str
    track: Track
    becomes: str | None


def described_row(result: Result, feature: int, other: Counterfactual | None) -> DescribedRow:
    """Return the row of a feature; with its value in ``other``, if that is another one."""
    assert result.inputs is not None
    assert result.radii is not None
    kind, group = result.inputs.features[feature], list(result.groups[feature])
    value = result.input.reshape(-1)[group]
    after = None if other is None else other.input.reshape(-1)[group]
    if after is not None and np.array_equal(after, value):
        after = None
    radius = float(radii_of_coordinates(result.inputs, result.radii)[group[0]])
    becomes = None if after is None else _value_text(kind, after)
    return DescribedRow(
        feature,
        shortened(kind.name, _LONGEST_NAME),
        _value_text(kind, value),
        _track(kind, value, after, radius),
        becomes,
    )


def _track(kind: Feature, value: FloatArray, after: FloatArray | None, radius: float) -> Track:
    if kind.values:
        return _words(kind, value, after, radius)
    here, there = float(value[0]), None if after is None else float(after[0])
    known = [here] if there is None else [here, there]
    finite = radius if np.isfinite(radius) else 0.0
    low = kind.lower if np.isfinite(kind.lower) else min(*known, here - finite)
    high = kind.upper if np.isfinite(kind.upper) else max(*known, here + finite)

    def place(x: float) -> float:
        return min(max((x - low) / (high - low), 0.0), 1.0) if high > low else 0.5

    ends = ("", "") if high == low else (_end(kind, low), _end(kind, high))
    headroom = place(max(low, here - radius)), place(min(high, here + radius))
    return Track(place(here), headroom, None if there is None else place(there), (), ends)


def _words(kind: Feature, value: FloatArray, after: FloatArray | None, radius: float) -> Track:
    """Return a track with a stop for each word, in the order of the description."""
    last = max(len(kind.values) - 1, 1)
    codes = np.array(kind.codes)

    def index(values: FloatArray) -> int:
        return int(np.argmax(values) if kind.one_hot else np.argmin(np.abs(codes - values[0])))

    here, there = index(value), None if after is None else index(after)
    steps = last if radius >= 1 and kind.unordered else min(radius, last)
    headroom = max(here - steps, 0) / last, min(here + steps, last) / last
    stops = tuple(place / last for place in range(len(kind.values)))
    ordered = not kind.unordered or last == 1
    ends = (kind.values[0], kind.values[-1]) if ordered else ("", f"{last + 1} values")
    ends = shortened(ends[0], _LONGEST_END), shortened(ends[1], _LONGEST_END)
    return Track(
        here / last, headroom, None if there is None else there / last, stops, ends, ordered
    )


def _value_text(kind: Feature, values: FloatArray) -> str:
    """Return a value in words; a word is cut short, and a number is whole."""
    text = kind.text(values)
    return typeset(shortened(text, _LONGEST_VALUE) if kind.values else text)


def _end(kind: Feature, value: float) -> str:
    """Return an end of the domain, or rounded that of the ball where the domain has none."""
    written = exact if value in (kind.lower, kind.upper) else nearest
    return typeset(written(value))
