"""Panels in rows: images with a caption each, below a title, in the style of our figures."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from milp_verix.results.explanation import Explanation
from milp_verix.views.feature_status import Status, status_keys
from milp_verix.views.image_view import ImageView, image_view, overlay, status_masks
from milp_verix.views.style import INK, MARGIN, MUTED, Drawing, Sheet, frame, legend

_HEIGHT, _GAP, _CAPTION, _TITLE, _LEGEND = 1.35, 0.16, 0.34, 0.62, 0.3
_NARROWEST = 5.6


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """Colours of an image, shape (height, width, 3) in [0, 1], and the text above it."""

    colours: NDArray[np.float64]
    caption: str


def panels(
    rows: Sequence[Sequence[Panel]],
    title: str,
    subtitle: str,
    statuses: set[Status] | None = None,
) -> Drawing:
    """Draw rows of panels of equal height; ``statuses`` get a legend below."""
    widths = [_HEIGHT * p.colours.shape[1] / p.colours.shape[0] for p in rows[0]]
    width = max(_NARROWEST, 2 * MARGIN + sum(widths) + _GAP * (len(widths) - 1))
    captions = [_CAPTION if any(panel.caption for panel in row) else 0.0 for row in rows]
    tops = list(accumulate((c + _HEIGHT + _GAP for c in captions), initial=MARGIN + _TITLE))
    below = _LEGEND if statuses else 0.0
    sheet = Sheet(width, tops[-1] + below + MARGIN / 2)
    sheet.text(MARGIN, MARGIN - 0.05, title, fontsize=12, fontweight="bold")
    sheet.text(MARGIN, MARGIN + 0.2, subtitle, fontsize=8.5, color=MUTED)
    for row, top, caption in zip(rows, tops, captions, strict=False):
        left = MARGIN
        for panel, wide in zip(row, widths, strict=True):
            sheet.text(left, top, panel.caption, fontsize=7.5, color=INK, linespacing=1.25)
            axes = sheet.axes(left, top + caption, wide, _HEIGHT)
            axes.imshow(panel.colours, interpolation="nearest", aspect="auto")
            frame(axes)
            left += wide + _GAP
    if statuses:
        axes = sheet.axes(MARGIN, tops[-1], width - 2 * MARGIN, 0.2)
        axes.set_axis_off()
        legend(axes, status_keys(statuses), loc="center left")
    return sheet.figure


def view_of(explanation: Explanation) -> ImageView:
    """Return how to see the input of an explanation; ``ValueError`` where it is no image."""
    view = image_view(explanation)
    if view is None:
        raise ValueError(f"an input of shape {explanation.model.input_shape} is no image")
    return view


def original(explanation: Explanation) -> NDArray[np.float64]:
    """Return the colours of the input of an explanation."""
    return view_of(explanation).rgb(explanation.input)


def marked(explanation: Explanation) -> NDArray[np.float64]:
    """Return the input in greys, its explanation green, undecided pixels orange."""
    view = view_of(explanation)
    masks = status_masks(view, explanation)
    colours = view.rgb(explanation.input)
    return overlay(colours, masks[Status.EXPLANATION], masks[Status.UNDECIDED])


def shown(explanations: Sequence[Explanation]) -> set[Status]:
    """Return the statuses that colours in ``marked`` stand for."""
    undecided = any(explanation.unknown for explanation in explanations)
    return {Status.EXPLANATION, *([Status.UNDECIDED] if undecided else [])}
