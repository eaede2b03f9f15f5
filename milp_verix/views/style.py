"""The sheet of paper that a figure is drawn on, and the style that all figures share."""

import re
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colorbar import Colorbar
from matplotlib.colors import Colormap, LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Patch
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import ScaledTranslation

from milp_verix.base.errors import printable
from milp_verix.results.base import Result
from milp_verix.views.facts import ball_text
from milp_verix.views.result_words import words_of
from milp_verix.views.wording import seconds_text, shortened
from verix_encodings.arrays import FloatArray

# in front of a number or in its exponent, not inside a name such as capital-gain
_MINUS = re.compile(r"(?<!\w)-(?=\d|inf)|(?<=\de)-(?=\d)")

INK, MUTED, FRAME, GRID = "#222222", "#5f5f5f", "#b0b0b0", "#e8e8e8"
PROVEN, OPEN = "#31688e", "#fdae61"
"""The colours of the two parts of a bracket."""

MARGIN = 0.3
HEADER = 0.9
"""Height of the headline and the line below it, in inches."""
INCHES_PER_CHARACTER = 0.068
LONGEST_NAME = 32

LABEL: dict[str, Any] = {"fontsize": 8, "color": INK, "labelpad": 2, "parse_math": False}
TICKS: dict[str, Any] = {
    "labelsize": 8,
    "labelcolor": INK,
    "color": FRAME,
    "width": 0.6,
    "length": 2.5,
    "pad": 2,
}

_DPI, _CSS_DPI = 150, 96
_HEADLINE_SIZE, _SMALL_SIZE = 13.0, 9.0
_BOLD_EM, _PLAIN_EM = 0.6, 0.52
"""Width of an average character in terms of the type's size."""

_LARGEST_DRAWN = 1e300
"""Limits beyond it overflow in Matplotlib."""
_DIVERGING = LinearSegmentedColormap.from_list(
    # without the darkest ends, in which red, blue and the mark can hardly be told apart
    "diverging",
    colormaps["RdBu_r"](np.linspace(0.08, 0.92, 257)),
)
_SEQUENTIAL = LinearSegmentedColormap.from_list("sequential", _DIVERGING(np.linspace(0.5, 1, 129)))


def typeset(text: str) -> str:
    """Return ``text``, made of words and numbers, with minus signs for the hyphens of numbers."""
    return _MINUS.sub("−", printable(text, "\n"))


class Drawing(Figure):
    """A figure that notebooks show by itself: they know other figures only through pyplot."""

    def render(self, format_: str = "png") -> bytes:
        """Return the bytes of an image file in ``format_``."""
        buffer = BytesIO()
        self.savefig(buffer, format=format_, dpi=_DPI, facecolor="white")
        return buffer.getvalue()

    @property
    def css_width(self) -> int:
        """Width on a page, in pixels: pictures are rendered finer than that."""
        return round(_CSS_DPI * float(self.get_figwidth()))

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        return self.render(), {"width": self.css_width}


class Sheet:
    """A figure whose parts are placed in inches from its upper left corner.

    Sizes in inches keep type and pictures in proportion whatever the shape of the input.
    """

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self.figure = Drawing(figsize=(width, height), facecolor="white")

    def axes(self, left: float, top: float, width: float, height: float) -> Axes:
        """Return new axes of that size with their upper left corner there."""
        bottom = self.height - top - height
        return self.figure.add_axes(
            (left / self.width, bottom / self.height, width / self.width, height / self.height),
            facecolor="white",
        )

    def text(self, left: float, top: float, text: str, **style: Any) -> Text:
        """Write ``text`` with its upper left corner there, as it stands: ``$`` is no formula."""
        return self.figure.text(
            left / self.width,
            1 - top / self.height,
            text,
            **{"va": "top", "color": INK, "fontsize": _SMALL_SIZE, "parse_math": False, **style},
        )

    def titled(self, result: Result, *more: str) -> None:
        """Write the headline of ``result``; below it the ball, the outcome and ``more`` facts."""
        words = words_of(result)
        facts = [typeset(ball_text(result)), words.outcome(result), *more, *run_facts(result)]
        self.headed(words.title(result), facts)

    def headed(self, headline: str, facts: list[str]) -> None:
        """Write a headline and, below it, a line of ``facts``."""
        title, line = typeset(headline), "   ·   ".join(facts)
        size = self._fitting(title, _HEADLINE_SIZE, _BOLD_EM)
        self.text(MARGIN, MARGIN - 0.05, title, fontsize=size, fontweight="bold")
        size = self._fitting(line, _SMALL_SIZE, _PLAIN_EM)
        self.text(MARGIN, MARGIN + 0.23, line, fontsize=size, color=MUTED)

    def _fitting(self, text: str, size: float, em: float) -> float:
        return size * min(1.0, (self.width - 2 * MARGIN) * 72 / (size * em * len(text)))


def run_facts(result: Result) -> list[str]:
    """Return the model, and the time with the solver."""
    time = f"{seconds_text(result.statistics.seconds)} with {result.solver}"
    return [shortened(result.model.file, 36), time]


def legend(
    axes: Axes,
    keys: Mapping[str, str] | Sequence[tuple[str, str]],
    edge: str = "none",
    **style: Any,
) -> None:
    """Put a legend into ``axes``: words, each with its colour."""
    pairs = keys.items() if isinstance(keys, Mapping) else keys
    axes.legend(
        handles=[Patch(facecolor=colour, edgecolor=edge, label=word) for word, colour in pairs],
        **{
            "frameon": False,
            "fontsize": 8.5,
            "labelcolor": INK,
            "handlelength": 1.0,
            "handleheight": 1.0,
            "handletextpad": 0.5,
            "columnspacing": 1.3,
            "borderaxespad": 0.0,
            "borderpad": 0.0,
            "ncols": 3,
            **style,
        },
    )


def frame(axes: Axes) -> None:
    """Give ``axes`` a thin frame and no ticks."""
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set(edgecolor=FRAME, linewidth=0.6)


def divided(axes: Axes, columns: int, rows: int) -> None:
    """Draw white lines between the cells of a table."""
    axes.set_xticks(np.arange(columns - 1) + 0.5, minor=True)
    axes.set_yticks(np.arange(rows - 1) + 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=1.2)
    axes.tick_params(which="minor", length=0)


def colour_scale(values: FloatArray) -> tuple[Colormap, Normalize]:
    """Return a colour map and its scale for ``values``, with zero white.

    Red above zero and blue below, symmetrically; red alone where nothing is negative.
    """
    limit = min(float(np.max(np.abs(values), initial=0.0)) or 1.0, _LARGEST_DRAWN)
    if np.min(values, initial=0.0) < 0:
        return _DIVERGING, Normalize(-limit, limit)
    return _SEQUENTIAL, Normalize(0.0, limit)


def colour_bar(image: AxesImage, axes: Axes, label: str) -> None:
    """Fill ``axes`` with a horizontal colour bar of ``image``."""
    bar = Colorbar(axes, image, orientation="horizontal")
    bar.locator = _few_ticks()
    bar.update_ticks()
    bar.outline.set(edgecolor=FRAME, linewidth=0.6)
    axes.tick_params(**TICKS)
    axes.set_xlabel(label, **LABEL)


def _few_ticks() -> MaxNLocator:
    return MaxNLocator(5, steps=[1, 2, 2.5, 5, 10])


def short_names(names: Sequence[str]) -> list[str]:
    """Return names as the labels of rows."""
    return [typeset(shortened(name, LONGEST_NAME)) for name in names]


def width_of(texts: Sequence[str]) -> float:
    """Return the inches that the longest of ``texts`` takes."""
    return max(map(len, texts), default=0) * INCHES_PER_CHARACTER


def right_of(names: Sequence[str], gap: float = 0.2) -> float:
    """Return the left edge of the bars behind ``names``, in inches."""
    return MARGIN + width_of(names) + gap


def bar_rows(axes: Axes, labels: Sequence[str], *, pad: float = 4) -> None:
    """Give the rows of horizontal bars their ``labels``, ``pad`` points to the left, and a grid."""
    axes.set_yticks(range(len(labels)), labels, parse_math=False)
    axes.set_ylim(max(len(labels), 1) - 0.5, -0.5)
    axes.xaxis.set_major_locator(_few_ticks())
    axes.grid(axis="x", color=GRID, linewidth=0.6, zorder=0)
    axes.axvline(0.0, color=FRAME, linewidth=0.8, zorder=3)
    axes.tick_params(axis="x", **TICKS)
    axes.tick_params(axis="y", length=0, pad=pad, labelsize=8.5, labelcolor=INK)
    for spine in axes.spines.values():
        spine.set_visible(False)


def status_bars(
    axes: Axes, labels: Sequence[str], lengths: Sequence[float], colours: Sequence[str]
) -> None:
    """Draw a bar for each row, and a mark of its colour beside it: a bar may have no length."""
    axes.barh(range(len(labels)), lengths, height=0.7, color=colours, zorder=2)
    beside = ScaledTranslation(-6 / 72, 0.0, axes.figure.dpi_scale_trans)
    axes.scatter(
        np.zeros(len(colours)),
        range(len(colours)),
        s=18,
        marker="s",
        color=colours,
        transform=axes.get_yaxis_transform() + beside,
        clip_on=False,
    )
    bar_rows(axes, labels, pad=14)


def texts_beside(axes: Axes, texts: Sequence[str]) -> None:
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
