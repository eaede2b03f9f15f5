"""A text with marked words, in lines of letters of one width."""

from typing import Any

from milp_verix.base.errors import printable
from milp_verix.views.figures.parts.sheet import MARGIN, Sheet
from milp_verix.views.figures.parts.style import INK, Status

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
