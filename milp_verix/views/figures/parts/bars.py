"""Parts that figures with a row of bars for each feature share."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes

from milp_verix.views.figures.parts.sheet import MARGIN
from milp_verix.views.figures.parts.style import INK, legend, typeset
from milp_verix.views.words.wording import shortened

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
