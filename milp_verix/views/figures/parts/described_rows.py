"""The rows of a picture of a described input: a feature, its range, its value, and another value.

Each feature has a track of its own from 0 to 1, so features of different units stand side by side.

Parts that figures with a row of bars for each feature share.

A text with marked words, in lines of letters of one width.

The status of a feature in an audit, with its colour.

Choice of counterfactuals to show: a few, of as many predictions as possible.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from milp_verix.base.errors import printable
from milp_verix.base.number_text import exact, nearest
from milp_verix.inputs.features import Feature
from milp_verix.inputs.radii import radii_of_coordinates
from milp_verix.results.audit import Audit
from milp_verix.results.base import Counterfactual, Result
from milp_verix.results.explanation import Explanation
from milp_verix.views.figures.parts.sheet import MARGIN, Sheet
from milp_verix.views.figures.parts.style import INK, Coloured, Status, legend, typeset
from milp_verix.views.words.wording import shortened
from verix_encodings.arrays import FloatArray

PROVEN, OPEN = "#31688e", "#fdae61"
"""The colours of the two parts of a bracket."""

INCHES_PER_CHARACTER = 0.068
LONGEST_NAME = 32


def short_names(names: Sequence[str], most: int = LONGEST_NAME) -> list[str]:
    """Return names as the labels of rows, none longer than ``most`` characters."""
    return [typeset(shortened(name, most)) for name in names]


def width_of(texts: Sequence[str]) -> float:
    """Return the inches that the longest of ``texts`` takes."""
    return max(map(len, texts), default=0) * INCHES_PER_CHARACTER


def right_of(names: Sequence[str], gap: float = 0.2) -> float:
    """Return the left edge of the bars behind ``names``, in inches."""
    return MARGIN + width_of(names) + gap


def told_beside(axes: Axes, texts: Sequence[str]) -> None:
    """Write a text to the right of each row."""
    for row, text in enumerate(texts):
        axes.text(
            1.0,
            row,
            f"  {typeset(text)}",
            transform=axes.get_yaxis_transform(),
            va="center",
            fontsize=8.5,
            color=INK,
            parse_math=False,
        )


def key_above(axes: Axes, height: float, keys: Mapping[str, str], columns: int = 3) -> None:
    """Put a legend above bars that are ``height`` inches high."""
    corner = (0.0, 1 + 0.07 / height)
    legend(axes, keys, loc="lower left", bbox_to_anchor=corner, ncols=columns)


LINE = 0.21
_SIZE = 10.0
_LETTER = 0.602 * _SIZE / 72
"""Width of a letter of DejaVu Sans Mono, in inches."""
_MOST_LINES = 24

Line = list[tuple[int, str, bool]]


def lines_of(parts: list[tuple[str, bool]], width: float) -> list[Line]:
    """Return the lines of a text on a sheet: pieces with their first column, marked or not."""
    letters = [
        (" " if one.isspace() else one, marked)
        for text, marked in parts
        for one in printable(text, "\n\t")
    ]
    most, lines, start = int((width - 2 * MARGIN) / _LETTER), list[Line](), 0
    while start < len(letters) and len(lines) < _MOST_LINES:
        stop = min(start + most, len(letters))
        if stop < len(letters):
            spaces = [k for k in range(start + 1, stop + 1) if letters[k][0] == " "]
            stop = spaces[-1] if spaces else stop
        line: Line = []
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


def write_lines(sheet: Sheet, top: float, lines: list[Line]) -> None:
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

    ``at`` is the place of the value, ``room`` the part of the track that the ball allows, ``to``
    the place of another value or None. ``stops`` are the places of words, empty for numbers.
    ``ordered`` is False where the places of words mean nothing.
    """

    at: float
    room: tuple[float, float]
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
    becomes = None if after is None else _told(kind, after)
    return DescribedRow(
        feature,
        shortened(kind.name, _LONGEST_NAME),
        _told(kind, value),
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
    room = place(max(low, here - radius)), place(min(high, here + radius))
    return Track(place(here), room, None if there is None else place(there), (), ends)


def _words(kind: Feature, value: FloatArray, after: FloatArray | None, radius: float) -> Track:
    """Return a track with a stop for each word, in the order of the description."""
    last = max(len(kind.values) - 1, 1)
    codes = np.array(kind.codes)

    def index(values: FloatArray) -> int:
        return int(np.argmax(values) if kind.one_hot else np.argmin(np.abs(codes - values[0])))

    here, there = index(value), None if after is None else index(after)
    steps = last if radius >= 1 and kind.unordered else min(radius, last)
    room = max(here - steps, 0) / last, min(here + steps, last) / last
    stops = tuple(place / last for place in range(len(kind.values)))
    ordered = not kind.unordered or last == 1
    ends = (kind.values[0], kind.values[-1]) if ordered else ("", f"{last + 1} values")
    ends = shortened(ends[0], _LONGEST_END), shortened(ends[1], _LONGEST_END)
    return Track(here / last, room, None if there is None else there / last, stops, ends, ordered)


def _told(kind: Feature, values: FloatArray) -> str:
    """Return a value in words; a word is cut short, and a number is whole."""
    text = kind.text(values)
    return typeset(shortened(text, _LONGEST_VALUE) if kind.values else text)


def _end(kind: Feature, value: float) -> str:
    """Return an end of the domain, or rounded that of the ball where the domain has none."""
    written = exact if value in (kind.lower, kind.upper) else nearest
    return typeset(written(value))


class AuditStatus(Coloured):
    """Status of a feature in an audit."""

    KEPT = "in the set", "#12a05c"
    REMOVABLE = "can be left out", "#56b4e9"
    ADDED = "missing", "#9b4dca"
    UNDECIDED = "undecided", "#f59b00"
    OUTSIDE = "not in the set", "#b4b4b4"
    STILL = Status.STILL.value, Status.STILL.colour


def audit_statuses(audit: Audit) -> tuple[AuditStatus, ...]:
    """Return the status of each feature.

    Outside of a set that is not sound, features are missing or undecided only if the audit found a
    sound set around it.
    """
    found = [AuditStatus.OUTSIDE] * len(audit.groups)
    for feature in audit.explanation:
        found[feature] = AuditStatus.KEPT
    for feature in audit.removable:
        found[feature] = AuditStatus.REMOVABLE
    for feature in {*audit.still} - {*audit.sound_set}:
        found[feature] = AuditStatus.STILL
    if audit.completed or audit.sound:
        for feature in audit.added:
            found[feature] = AuditStatus.ADDED
        for feature in audit.unknown:
            found[feature] = AuditStatus.UNDECIDED
    return tuple(found)


def chosen(
    explanation: Explanation, limit: int, among: Collection[int] | None = None
) -> tuple[int, ...]:
    """Return at most ``limit`` features whose counterfactuals to show, by class, then ascending.

    Every predicted class gets one before any gets a second, the most frequent first; within a
    class, and for a regression, they are spread evenly. ``among`` restricts the features.
    """
    by_class: dict[int, list[int]] = {}
    for feature, counterfactual in sorted(explanation.counterfactuals.items()):
        if among is None or feature in among:
            prediction = counterfactual.prediction
            # the values of a regression are all different, so that they tell nothing apart
            label = prediction if isinstance(prediction, int) else 0
            by_class.setdefault(label, []).append(feature)
    most_frequent_first = sorted(by_class, key=lambda label: (-len(by_class[label]), label))
    turns = sorted(
        (turn, place, label)
        for place, label in enumerate(most_frequent_first)
        for turn in range(len(by_class[label]))
    )
    taken = [label for _, _, label in turns[:limit]]
    return tuple(
        feature
        for label in sorted(by_class)
        for feature in _spread(by_class[label], taken.count(label))
    )


def _spread(features: list[int], count: int) -> list[int]:
    # the middle of each of `count` equal parts
    return [features[(2 * part + 1) * len(features) // (2 * count)] for part in range(count)]
