"""Style that all figures share: colours, legends, colour bars, headings."""

import re
from collections.abc import Collection, Mapping, Sequence
from enum import Enum
from typing import Any, Self

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colorbar import Colorbar
from matplotlib.colors import Colormap, LinearSegmentedColormap, Normalize
from matplotlib.image import AxesImage
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import ScaledTranslation

from milp_verix.base.errors import printable
from milp_verix.base.number_text import counted
from milp_verix.results.explanation import Explanation
from milp_verix.views.words.wording import rivals_text
from verix_encodings.arrays import FloatArray

# in front of a number or in its exponent, not inside a name such as capital-gain
_MINUS = re.compile(r"(?<!\w)-(?=\d|inf)|(?<=\de)-(?=\d)")

INK = "#222222"
MUTED = "#5f5f5f"
FREED = "the feature taken out of the explanation"
"""The meaning of outlines, in pictures and pages."""
FRAME = "#b0b0b0"
GRID = "#e8e8e8"

LABEL: dict[str, Any] = {"fontsize": 8, "color": INK, "labelpad": 2, "parse_math": False}
TICKS: dict[str, Any] = {
    "labelsize": 8,
    "labelcolor": INK,
    "color": FRAME,
    "width": 0.6,
    "length": 2.5,
    "pad": 2,
}

_DIVERGING = LinearSegmentedColormap.from_list(
    # without the darkest ends, in which red, blue and the mark can hardly be told apart
    "diverging",
    colormaps["RdBu_r"](np.linspace(0.08, 0.92, 257)),
)
_SEQUENTIAL = LinearSegmentedColormap.from_list("sequential", _DIVERGING(np.linspace(0.5, 1, 129)))


class Coloured(Enum):
    """Words with the ``colour`` of their tints, bars and legends."""

    colour: str

    def __new__(cls, word: str, colour: str) -> Self:
        """Make a member whose value is ``word``."""
        member = object.__new__(cls)
        member._value_, member.colour = word, colour
        return member


class Status(Coloured):
    """Status of a feature. The colours differ in lightness too, for every eye."""

    EXPLANATION = "explanation", "#12a05c"
    UNDECIDED = "undecided", "#f59b00"
    IRRELEVANT = "irrelevant", "#b4b4b4"
    STILL = "stays as it is", "#c8b89a"

    @property
    def kept(self) -> bool:
        """True for features of the explanation, decided or not."""
        return self in (Status.EXPLANATION, Status.UNDECIDED)


def statuses(explanation: Explanation) -> tuple[Status, ...]:
    """Return the status of each feature."""
    result = [Status.IRRELEVANT] * len(explanation.groups)
    for feature in explanation.still:
        result[feature] = Status.STILL
    for feature in explanation.explanation:
        result[feature] = Status.EXPLANATION
    for feature in explanation.unknown:
        result[feature] = Status.UNDECIDED
    return tuple(result)


def status_keys(shown: Collection[Status]) -> dict[str, str]:
    """Return the words and the colours of the statuses ``shown``, for a legend."""
    return {status.value: status.colour for status in Status if status in shown}


def legend(axes: Axes, keys: Mapping[str, str], **style: Any) -> None:
    """Put a legend into ``axes``: words, each with its colour."""
    axes.legend(
        handles=[
            Patch(facecolor=colour, edgecolor="none", label=word) for word, colour in keys.items()
        ],
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


def typeset(text: str) -> str:
    """Return ``text``, made of words and numbers, with minus signs for the hyphens of numbers."""
    return _MINUS.sub("−", printable(text, "\n"))


def frame(axes: Axes) -> None:
    """Give ``axes`` a thin frame and no ticks."""
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set(edgecolor=FRAME, linewidth=0.6)


def colour_scale(values: FloatArray) -> tuple[Colormap, Normalize]:
    """Return a colour map and its scale for ``values``, with zero white.

    Red above zero and blue below, symmetrically; red alone where nothing is negative.
    """
    limit = float(np.max(np.abs(values), initial=0.0)) or 1.0
    if np.min(values, initial=0.0) < 0:
        return _DIVERGING, Normalize(-limit, limit)
    return _SEQUENTIAL, Normalize(0.0, limit)


def colour_bar(image: AxesImage, axes: Axes, label: str) -> None:
    """Fill ``axes`` with a horizontal colour bar of ``image``."""
    bar = Colorbar(axes, image, orientation="horizontal")
    bar.locator = few_ticks()
    bar.update_ticks()
    bar.outline.set(edgecolor=FRAME, linewidth=0.6)
    axes.tick_params(**TICKS)
    axes.set_xlabel(label, **LABEL)


def sensitivity_label(explanation: Explanation) -> str:
    """Return the meaning of the sensitivity of a feature, which its order gives it."""
    if explanation.order in ("influence", "adaptive"):
        named = "another prediction" if explanation.against is None else rivals_text(explanation)
        return f"estimated share of the way to {named}"
    if explanation.order in _SENSITIVITY:
        return _SENSITIVITY[explanation.order]
    return "drop of the score" if explanation.delta is None else "change of the output"


_SENSITIVITY = {
    "margin": "most that a rival gains if it changes alone, by bounds",
    "bound": "most that confidence drops if it changes alone, by bounds",
    "bound_crown": "most that confidence drops if it changes alone, by bounds",
}


def gallery_heading(shown: int, explanation: Explanation, drawn: str = "") -> str:
    """Return the heading of a gallery: ``"8 of 191 counterfactuals"``, and a key to the outline.

    ``drawn`` follows the count, for pictures that are not the counterfactuals themselves.
    """
    total = counted(len(explanation.counterfactuals), "counterfactual")
    count = total if shown == len(explanation.counterfactuals) else f"{shown} of {total}"
    return f"{count}{drawn}   ·   outlined: {FREED}"


def few_ticks() -> MaxNLocator:
    """Return a locator of a few round numbers."""
    return MaxNLocator(5, steps=[1, 2, 2.5, 5, 10])


def bar_rows(axes: Axes, labels: Sequence[str], *, pad: float) -> None:
    """Give the rows of horizontal bars their ``labels``, ``pad`` points to the left, and a grid."""
    axes.set_yticks(range(len(labels)), labels, parse_math=False)
    axes.set_ylim(max(len(labels), 1) - 0.5, -0.5)
    axes.xaxis.set_major_locator(few_ticks())
    axes.grid(axis="x", color=GRID, linewidth=0.6, zorder=0)
    axes.axvline(0.0, color=FRAME, linewidth=0.8, zorder=3)
    axes.tick_params(axis="x", **TICKS)
    axes.tick_params(axis="y", length=0, pad=pad, labelsize=8.5, labelcolor=INK)
    for spine in axes.spines.values():
        spine.set_visible(False)


def status_marks(axes: Axes, colours: Sequence[str]) -> None:
    """Mark each row with the colour of its status: its bar may have no length."""
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
