"""The figure of a contrastive explanation: the input, its counterfactual, and their difference."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from milp_verix.reporting.figures.described_plot import described_contrast
from milp_verix.reporting.figures.image_view import ImageView, image_view
from milp_verix.reporting.figures.outline import MARK, mark
from milp_verix.reporting.figures.sheet import HEADER, MARGIN, Drawing, Sheet
from milp_verix.reporting.figures.style import (
    GRID,
    INK,
    LABEL,
    TICKS,
    colour_bar,
    colour_scale,
    frame,
    typeset,
)
from milp_verix.reporting.figures.writing import drawn
from milp_verix.reporting.words.feature_labels import labels_of
from milp_verix.reporting.words.wording import (
    contrast_headline,
    contrast_outcome,
    prediction_text,
    shortened,
)
from milp_verix.results.records.contrast import ContrastiveExplanation
from verix_encodings.arrays import FloatArray

_PANEL = 2.9
_GAP = 0.25
_CAPTION = 0.25
_BELOW = 0.6
_TALLEST = 1.3
_MOST_BARS = 40
_BAR = 0.22
_NARROWEST, _NARROWEST_BARS = 8.0, 4.0
_LONGEST_NAME = 32
_INCHES_PER_CHARACTER = 0.066


def plot_contrast(
    found: ContrastiveExplanation,
    path: str | Path | None = None,
    *,
    image_shape: tuple[int, ...] | None = None,
) -> Drawing:
    """Draw ``found``; write it to ``path`` if given, in the format of its suffix.

    Images: the input with the contrast outlined, the change, and the counterfactual. Described
    inputs: a row for each feature. Other inputs: a bar for the change of each coordinate in the
    contrast, the first 40 of them. Raises ``InputError`` as
    :func:`.explanation_plot.plot_explanation` does.
    """

    def draw() -> Drawing:
        if found.inputs is not None:
            return described_contrast(found)
        view = image_view(found, image_shape)
        return _bars(found) if view is None else _images(found, view)

    return drawn(draw, path)


def _change(found: ContrastiveExplanation) -> FloatArray:
    x = found.input.reshape(-1).astype(np.float64)
    if found.counterfactual is None:
        return np.zeros(x.size)
    return found.counterfactual.input.reshape(-1).astype(np.float64) - x


def _coordinates(found: ContrastiveExplanation) -> list[int]:
    return [i for feature in found.contrast or () for i in found.groups[feature]]


def _labels(found: ContrastiveExplanation) -> list[str]:
    """Return the label of each coordinate of the contrast."""
    labels = labels_of(found)
    return [
        name if len(found.groups[feature]) == 1 else f"{name}: input {i}"
        for feature in found.contrast or ()
        for name in [shortened(labels[feature], _LONGEST_NAME)]
        for i in found.groups[feature]
    ]


def _images(found: ContrastiveExplanation, view: ImageView) -> Drawing:
    panels = 1 if found.counterfactual is None else 3
    height = _PANEL * min(_TALLEST, view.height / view.width)
    width = 3 * _PANEL + 2 * _GAP + 2 * MARGIN
    sheet = Sheet(width, HEADER + _CAPTION + height + _BELOW)
    sheet.titled(contrast_headline(found), contrast_outcome(found), found)
    boxes = [
        sheet.axes(MARGIN + place * (_PANEL + _GAP), HEADER + _CAPTION, _PANEL, height)
        for place in range(panels)
    ]
    contrast = view.covered(_coordinates(found))
    predicted = typeset(prediction_text(found.prediction, 3))
    _picture(boxes[0], view.rgb(found.input), f"Input: {predicted}")
    mark(boxes[0], contrast)
    if found.counterfactual is None:
        return sheet.figure
    change = view.change(found.input, found.counterfactual.input)
    colours, norm = colour_scale(change)
    image = boxes[1].imshow(change, cmap=colours, norm=norm, interpolation="nearest")
    _titled(boxes[1], "Change")
    below = HEADER + _CAPTION + height + 0.09
    colour_bar(image, sheet.axes(MARGIN + _PANEL + _GAP, below, _PANEL, 0.1), "in input units")
    predicted = typeset(prediction_text(found.counterfactual.prediction, 3))
    _picture(boxes[2], view.rgb(found.counterfactual.input), f"Counterfactual: {predicted}")
    mark(boxes[2], contrast)
    return sheet.figure


def _bars(found: ContrastiveExplanation) -> Drawing:
    shown = _coordinates(found)[:_MOST_BARS]
    height = max(len(shown), 1) * _BAR
    labels = _labels(found)[:_MOST_BARS]
    left = MARGIN + max(map(len, labels), default=0) * _INCHES_PER_CHARACTER + 0.15
    sheet = Sheet(max(_NARROWEST, left + _NARROWEST_BARS + MARGIN), HEADER + height + _BELOW)
    sheet.titled(contrast_headline(found), contrast_outcome(found), found)
    axes = sheet.axes(left, HEADER, sheet.width - MARGIN - left, height)
    axes.barh(range(len(shown)), _change(found)[shown], color=MARK, height=0.7)
    axes.axvline(0.0, color=INK, linewidth=0.6)
    axes.set_yticks(range(len(shown)), labels, parse_math=False)
    axes.invert_yaxis()
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.grid(axis="x", color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(**TICKS)
    axes.set_xlabel("change, in input units", **LABEL)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    return sheet.figure


def _picture(axes: Axes, colours: FloatArray, title: str) -> None:
    axes.imshow(colours, interpolation="nearest")
    _titled(axes, title)


def _titled(axes: Axes, title: str) -> None:
    axes.set_title(title, fontsize=10.0, pad=4, color=INK)
    frame(axes)
