"""The figure of a contrastive explanation: the input, its counterfactual, and their difference."""

import numpy as np

from milp_verix.results.contrast import ContrastiveExplanation
from milp_verix.views.figures.parts.described_rows import LONGEST_NAME, right_of
from milp_verix.views.figures.parts.image_view import MARK, ImageView, mark
from milp_verix.views.figures.parts.sheet import HEADER, MARGIN, Drawing, PictureRow, Sheet
from milp_verix.views.figures.parts.style import LABEL, bar_rows, typeset
from milp_verix.views.words.labels import labels_of
from milp_verix.views.words.wording import (
    contrast_headline,
    contrast_outcome,
    prediction_text,
    shortened,
)
from verix_encodings.arrays import FloatArray

_BELOW = 0.6
_MOST_BARS = 40
_BAR = 0.22
_NARROWEST, _NARROWEST_BARS = 8.0, 4.0


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
        for name in [shortened(labels[feature], LONGEST_NAME)]
        for i in found.groups[feature]
    ]


def images(found: ContrastiveExplanation, view: ImageView, _shape: object) -> Drawing:
    """Draw the input with the contrast outlined, the change, and the counterfactual."""
    row, after = PictureRow(view, 3, _BELOW), found.counterfactual
    row.sheet.titled(contrast_headline(found), contrast_outcome(found), found)
    contrast = view.covered(_coordinates(found))
    predicted = typeset(prediction_text(found.prediction, 3))
    mark(row.picture(0, view.rgb(found.input), f"Input: {predicted}"), contrast)
    if after is not None:
        row.mapped(1, view.change(found.input, after.input), "Change", "in input units")
        predicted = typeset(prediction_text(after.prediction, 3))
        mark(row.picture(2, view.rgb(after.input), f"Counterfactual: {predicted}"), contrast)
    return row.sheet.figure


def bars(found: ContrastiveExplanation) -> Drawing:
    """Draw a bar for the change of each coordinate in the contrast."""
    shown = _coordinates(found)[:_MOST_BARS]
    height = max(len(shown), 1) * _BAR
    labels = _labels(found)[:_MOST_BARS]
    left = right_of(labels, 0.15)
    sheet = Sheet(max(_NARROWEST, left + _NARROWEST_BARS + MARGIN), HEADER + height + _BELOW)
    sheet.titled(contrast_headline(found), contrast_outcome(found), found)
    axes = sheet.axes(left, HEADER, sheet.width - MARGIN - left, height)
    axes.barh(range(len(shown)), _change(found)[shown], color=MARK, height=0.7)
    bar_rows(axes, labels, pad=4)
    axes.set_xlabel("change, in input units", **LABEL)
    return sheet.figure
