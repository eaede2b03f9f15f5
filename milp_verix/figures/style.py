"""What the figures share: colours, type, and a sheet measured in inches."""

from enum import Enum
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

from milp_verix.explanation import Explanation
from milp_verix.wording import (
    ball_text,
    counted,
    headline,
    outcome_text,
    seconds_text,
    shortened,
)
from verix_encodings.arrays import FloatArray

INK = "#222222"
MUTED = "#5f5f5f"
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

MARGIN = 0.3
HEADER = 0.9
"""Height of the headline and the line below it, in inches."""

_HEADLINE_SIZE = 13.0
_SMALL_SIZE = 9.0
_BOLD_EM = 0.6
_PLAIN_EM = 0.52
"""Width of an average character in terms of the type's size."""

_DIVERGING = LinearSegmentedColormap.from_list(
    # without the darkest ends, in which red, blue and the mark can hardly be told apart
    "diverging",
    colormaps["RdBu_r"](np.linspace(0.08, 0.92, 257)),
)
_SEQUENTIAL = LinearSegmentedColormap.from_list("sequential", _DIVERGING(np.linspace(0.5, 1, 129)))


class Status(Enum):
    """What is known of a feature. The colours differ in lightness too, for every eye."""

    EXPLANATION = "explanation"
    UNDECIDED = "undecided"
    IRRELEVANT = "irrelevant"

    @property
    def colour(self) -> str:
        """The colour of bars and legends."""
        return _COLOURS[self]


_COLOURS = {
    Status.EXPLANATION: "#12a05c",
    Status.UNDECIDED: "#f59b00",
    Status.IRRELEVANT: "#b4b4b4",
}


def statuses(explanation: Explanation) -> tuple[Status, ...]:
    """Return the status of each feature."""
    result = [Status.IRRELEVANT] * len(explanation.groups)
    for feature in explanation.explanation:
        result[feature] = Status.EXPLANATION
    for feature in explanation.unknown:
        result[feature] = Status.UNDECIDED
    return tuple(result)


class Sheet:
    """A figure whose parts are placed in inches from its upper left corner.

    Sizes in inches keep type and pictures in proportion whatever the shape of the input.
    """

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self.figure = Figure(figsize=(width, height), facecolor="white")

    def axes(self, left: float, top: float, width: float, height: float) -> Axes:
        """Return new axes of that size with their upper left corner there."""
        bottom = self.height - top - height
        return self.figure.add_axes(
            (
                left / self.width,
                bottom / self.height,
                width / self.width,
                height / self.height,
            ),
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

    def header(self, explanation: Explanation) -> None:
        """Write the headline and, below it, what the claim is about."""
        title = typeset(headline(explanation))
        facts = "   ·   ".join(
            [
                typeset(ball_text(explanation)),
                outcome_text(explanation),
                shortened(explanation.model.file, 36),
                f"{seconds_text(explanation.statistics.seconds)} with {explanation.solver}",
            ]
        )
        size = self._fitting(title, _HEADLINE_SIZE, _BOLD_EM)
        self.text(MARGIN, MARGIN - 0.05, title, fontsize=size, fontweight="bold")
        size = self._fitting(facts, _SMALL_SIZE, _PLAIN_EM)
        self.text(MARGIN, MARGIN + 0.23, facts, fontsize=size, color=MUTED)

    def _fitting(self, text: str, size: float, em: float) -> float:
        return size * min(1.0, (self.width - 2 * MARGIN) * 72 / (size * em * len(text)))


def legend(axes: Axes, shown: set[Status], **style: Any) -> None:
    """Put a legend of the statuses ``shown`` into ``axes``."""
    axes.legend(
        handles=[
            Patch(facecolor=status.colour, edgecolor="none", label=status.value)
            for status in Status
            if status in shown
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
            "ncols": len(Status),
            **style,
        },
    )


def typeset(text: str) -> str:
    """Return ``text``, made of words and numbers, with minus signs for hyphens."""
    return text.replace("-", "−")


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
    """Return what the sensitivity of a feature measures."""
    return "drop of the score" if explanation.delta is None else "change of the output"


def gallery_heading(shown: int, explanation: Explanation) -> str:
    """Return ``"8 of 191 counterfactuals"``, and what is outlined in them."""
    total = counted(len(explanation.counterfactuals), "counterfactual")
    count = total if shown == len(explanation.counterfactuals) else f"{shown} of {total}"
    return f"{count}   ·   outlined: the feature freed"


def few_ticks() -> MaxNLocator:
    """Return a locator of a few round numbers."""
    return MaxNLocator(5, steps=[1, 2, 2.5, 5, 10])
