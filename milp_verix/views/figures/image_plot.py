"""The figure of an explained image: panels above, what counterfactuals change below."""

import math
from dataclasses import dataclass, replace

import numpy as np

from milp_verix.results.explanation import Explanation
from milp_verix.views.figures.parts.described_rows import chosen
from milp_verix.views.figures.parts.image_view import (
    ImageView,
    mark,
    overlay,
    sensitivity_map,
    status_masks,
)
from milp_verix.views.figures.parts.sheet import (
    GAP,
    MARGIN,
    PANEL,
    Drawing,
    PictureRow,
    Sheet,
    titled,
)
from milp_verix.views.figures.parts.style import (
    Status,
    colour_bar,
    colour_scale,
    gallery_heading,
    legend,
    sensitivity_label,
    status_keys,
    typeset,
)
from milp_verix.views.words.labels import FeatureLabels, labels_of
from milp_verix.views.words.wording import changed_text

_TILES = 8
_TILE_TITLE = 7.5
_BELOW, _BELOW_LEGEND = 0.78, 0.5
"""Room below the panels for the colour bar and the legend, or for the legend alone."""
_HEADING = 0.3
_TILE_GAP = 0.12
_TILE_LINE = 0.15
_TILE_BAR = 0.5
"""Room below the tiles for their colour bar."""
_INCHES_PER_CHARACTER = 0.06
_WIDE = 1.4


@dataclass(frozen=True, slots=True)
class _Gallery:
    """A grid of image tiles, ``columns`` to a row, in a figure ``content`` inches wide.

    ``captions`` has one entry for each tile; ``ratio`` is a tile's height divided by its width.
    """

    captions: dict[int, str]
    columns: int
    content: float
    ratio: float

    @property
    def width(self) -> float:
        return (self.content - (self.columns - 1) * _TILE_GAP) / self.columns

    @property
    def caption_height(self) -> float:
        lines = max((caption.count("\n") + 1 for caption in self.captions.values()), default=0)
        return lines * _TILE_LINE

    @property
    def row_height(self) -> float:
        return self.caption_height + self.width * self.ratio + _TILE_GAP

    @property
    def height(self) -> float:
        rows = math.ceil(len(self.captions) / self.columns)
        return _HEADING + rows * self.row_height + _TILE_BAR if rows else 0.0


def image_figure(
    explanation: Explanation, view: ImageView, image_shape: tuple[int, ...] | None = None
) -> Drawing:
    """Draw the input, its sensitivity, the explanation, and what some counterfactuals change.

    A counterfactual by itself looks like the input where the ball is small.
    """
    scores = sensitivity_map(view, explanation)
    panels, below = (2, _BELOW_LEGEND) if scores is None else (3, _BELOW)
    labels = labels_of(explanation, image_shape)
    row = PictureRow(view, panels, below)
    gallery = _gallery(explanation, view, labels, row)
    row = PictureRow(view, panels, below + gallery.height + MARGIN / 3)
    row.sheet.header(explanation)
    row.picture(0, view.rgb(explanation.input), "Input")
    if scores is not None:
        row.mapped(1, scores, "Sensitivity", sensitivity_label(explanation))
    _explanation(row, panels - 1, view, explanation)
    _counterfactuals(row.sheet, row.bottom + below, gallery, view, explanation)
    return row.sheet.figure


def _gallery(
    explanation: Explanation,
    view: ImageView,
    labels: FeatureLabels,
    row: PictureRow,
) -> _Gallery:
    one_row = row.content > 2 * PANEL + GAP and view.width < _WIDE * view.height
    columns = _TILES if one_row else _TILES // 2
    changed = {
        feature: typeset(changed_text(explanation, explanation.counterfactuals[feature]))
        for feature in chosen(explanation, _TILES)
    }
    captions = {
        feature: f"{labels[feature]}{' ' if text.startswith('→') else ': '}{text}"
        for feature, text in changed.items()
    }
    gallery = _Gallery(captions, columns, row.content, row.ratio)
    longest = max((len(caption) for caption in captions.values()), default=0)
    if longest * _INCHES_PER_CHARACTER <= gallery.width:
        return gallery
    most = int(gallery.width / _INCHES_PER_CHARACTER)
    captions = {
        feature: f"{labels.fitting(feature, most)}\n{text}" for feature, text in changed.items()
    }
    return replace(gallery, captions=captions)


def _explanation(row: PictureRow, place: int, view: ImageView, explanation: Explanation) -> None:
    masks = status_masks(view, explanation)
    tinted = overlay(
        view.rgb(explanation.input),
        masks[Status.EXPLANATION],
        masks[Status.UNDECIDED],
        masks[Status.STILL],
    )
    axes = row.picture(place, tinted, "Explanation")
    keys = status_keys([status for status, mask in masks.items() if mask.any()])
    legend(axes, keys, loc="upper center", bbox_to_anchor=(0.5, -0.09 / row.height))


def _counterfactuals(
    sheet: Sheet, top: float, gallery: _Gallery, view: ImageView, explanation: Explanation
) -> None:
    if not gallery.captions:
        return
    heading = gallery_heading(len(gallery.captions), explanation, drawn=" minus the input")
    sheet.text(MARGIN, top, heading)
    before, found = explanation.input, explanation.counterfactuals
    changes = {feature: view.change(before, found[feature].input) for feature in gallery.captions}
    colours, norm = colour_scale(np.stack(list(changes.values())))
    for place, (feature, caption) in enumerate(gallery.captions.items()):
        row, column = divmod(place, gallery.columns)
        axes = sheet.axes(
            MARGIN + column * (gallery.width + _TILE_GAP),
            top + _HEADING + row * gallery.row_height + gallery.caption_height,
            gallery.width,
            gallery.width * gallery.ratio,
        )
        image = axes.imshow(changes[feature], cmap=colours, norm=norm, interpolation="nearest")
        titled(axes, caption, _TILE_TITLE)
        mark(axes, view.covered(list(explanation.groups[feature])))
    bar = sheet.axes(MARGIN, top + gallery.height - _TILE_BAR, PANEL, 0.1)
    colour_bar(image, bar, "change, in input units")
