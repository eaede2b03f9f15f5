"""The figures of results whose inputs are images: pictures side by side, tiles below them."""

import math
from dataclasses import dataclass, replace

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import Normalize, to_rgb

from milp_verix.base.number_text import counted
from milp_verix.results.audit import Audit
from milp_verix.results.base import Counterfactual, Result
from milp_verix.results.contrast import ContrastiveExplanation
from milp_verix.results.explanation import Explanation
from milp_verix.results.importance import Importance
from milp_verix.results.ranges import Ranges, RobustnessRadii
from milp_verix.views import image_view, style
from milp_verix.views.bars_plot import NEVER, flip_of, radii_titled, ranges_titled
from milp_verix.views.feature_status import (
    AuditStatus,
    Status,
    audit_statuses,
    chosen,
    gallery_heading,
    sensitivity_label,
    status_keys,
)
from milp_verix.views.importance_words import NAMES
from milp_verix.views.labels import FeatureLabels, labels_of
from milp_verix.views.wording import changed_text, prediction_text

_TILES = 8
_TILE_TITLE, _TILE_LINE, _TILE_GAP = 7.5, 0.15, 0.12
_HEADING, _TILE_BAR = 0.3, 0.5
"""Room above the tiles for their heading, and below them for their colour bar."""
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


def explanation_images(explanation: Explanation, view: image_view.ImageView) -> style.Drawing:
    """Draw the input, its sensitivity, the explanation, and what some counterfactuals change."""
    scores = image_view.sensitivity_map(view, explanation)
    # below the panels a colour bar and the legend, or the legend alone
    panels, below = (2, 0.5) if scores is None else (3, 0.78)
    row = image_view.PictureRow(view, panels, below)
    gallery = _gallery(explanation, view, labels_of(explanation, view.shape), row)
    row = image_view.PictureRow(view, panels, below + gallery.height + style.MARGIN / 3)
    row.sheet.titled(explanation)
    colours, masks = view.rgb(explanation.input), image_view.status_masks(view, explanation)
    row.picture(0, colours, "Input")
    if scores is not None:
        row.mapped(1, scores, "Sensitivity", sensitivity_label(explanation))
    tints = [masks[one] for one in (Status.EXPLANATION, Status.UNDECIDED, Status.STILL)]
    axes = row.picture(panels - 1, image_view.overlay(colours, *tints), "Explanation")
    keys = status_keys([status for status, mask in masks.items() if mask.any()])
    style.legend(axes, keys, loc="upper center", bbox_to_anchor=(0.5, -0.09 / row.height))
    if gallery.captions:
        _tiles(row, row.bottom + below, gallery, view, explanation)
    return row.sheet.figure


def _gallery(
    explanation: Explanation,
    view: image_view.ImageView,
    labels: FeatureLabels,
    row: image_view.PictureRow,
) -> _Gallery:
    one_row = (
        row.content > 2 * image_view.PANEL + image_view.GAP and view.width < _WIDE * view.height
    )
    changed = {
        feature: style.typeset(changed_text(explanation, explanation.counterfactuals[feature]))
        for feature in chosen(explanation, _TILES)
    }
    captions = {
        feature: f"{labels[feature]}{' ' if text.startswith('→') else ': '}{text}"
        for feature, text in changed.items()
    }
    gallery = _Gallery(captions, _TILES if one_row else _TILES // 2, row.content, row.ratio)
    if max(map(len, captions.values()), default=0) * _INCHES_PER_CHARACTER <= gallery.width:
        return gallery
    most = int(gallery.width / _INCHES_PER_CHARACTER)
    captions = {one: f"{labels.fitting(one, most)}\n{text}" for one, text in changed.items()}
    return replace(gallery, captions=captions)


def _tiles(
    row: image_view.PictureRow,
    top: float,
    gallery: _Gallery,
    view: image_view.ImageView,
    explanation: Explanation,
) -> None:
    heading = gallery_heading(len(gallery.captions), explanation, drawn=" minus the input")
    row.sheet.text(style.MARGIN, top, heading)
    before, found = explanation.input, explanation.counterfactuals
    changes = {feature: view.change(before, found[feature].input) for feature in gallery.captions}
    colours, norm = style.colour_scale(np.stack(list(changes.values())))
    for place, (feature, caption) in enumerate(gallery.captions.items()):
        line, column = divmod(place, gallery.columns)
        axes = row.sheet.axes(
            style.MARGIN + column * (gallery.width + _TILE_GAP),
            top + _HEADING + line * gallery.row_height + gallery.caption_height,
            gallery.width,
            gallery.width * gallery.ratio,
        )
        image = axes.imshow(changes[feature], cmap=colours, norm=norm, interpolation="nearest")
        image_view.titled(axes, caption, _TILE_TITLE)
        image_view.mark(axes, view.pixels(explanation, [feature]))
    bar = row.sheet.axes(style.MARGIN, top + gallery.height - _TILE_BAR, image_view.PANEL, 0.1)
    style.colour_bar(image, bar, "change, in input units")


def contrast_images(found: ContrastiveExplanation, view: image_view.ImageView) -> style.Drawing:
    """Draw the input with the contrast outlined, the change, and the counterfactual."""
    row, after = image_view.PictureRow(view, 3, 0.6), found.counterfactual
    row.sheet.titled(found)
    contrast = view.pixels(found, found.contrast or ())
    image_view.mark(row.picture(0, view.rgb(found.input), f"Input: {_predicted(found)}"), contrast)
    if after is not None:
        row.mapped(1, view.change(found.input, after.input), "Change", "in input units")
        picture = row.picture(2, view.rgb(after.input), f"Counterfactual: {_predicted(after)}")
        image_view.mark(picture, contrast)
    return row.sheet.figure


def _predicted(found: Result | Counterfactual) -> str:
    return style.typeset(prediction_text(found.prediction, 3))


def audit_images(audit: Audit, view: image_view.ImageView) -> style.Drawing:
    """Draw the input, the set, and an input that changes the prediction, with its change."""
    flip = flip_of(audit)
    row = image_view.PictureRow(view, 2 if flip is None else 4, 0.75)
    row.sheet.titled(audit)
    row.picture(0, view.rgb(audit.input), f"Input: {_predicted(audit)}")
    masks = image_view.masks_of(view, audit, audit_statuses(audit), list(AuditStatus)[:-1])
    tints = [(mask, to_rgb(status.colour)) for status, mask in masks.items()]
    axes = row.picture(1, image_view.tinted(view.rgb(audit.input), tints), "Set audited")
    keys = status_keys([status for status, mask in masks.items() if mask.any()])
    if keys:
        corner, columns = (0.5, -0.09 / row.height), 2 if len(keys) > 3 else len(keys)
        style.legend(axes, keys, loc="upper center", bbox_to_anchor=corner, ncols=columns)
    if flip is None:
        return row.sheet.figure
    feature, point = flip
    title, kind = "Change", "Counterexample"
    if feature is not None:
        title = f"Without {labels_of(audit, view.shape).fitting(feature, 24)}: change"
        kind = "Counterfactual"
    change = row.mapped(2, view.change(audit.input, point.input), title, "in input units")
    changed = f"{kind} {style.typeset(changed_text(audit, point))}"
    after = row.picture(3, view.rgb(point.input), changed)
    if feature is not None:
        for axes in (change, after):
            image_view.mark(axes, view.pixels(audit, [feature]))
    return row.sheet.figure


def importance_images(found: Importance, view: image_view.ImageView) -> style.Drawing:
    """Draw the input, and beside it both ends of the importance of each pixel's features."""
    ends = [("Importance", found.lower)]
    if not found.exact:
        ends = [("Lower end, proven", found.lower), ("Upper end, proven", found.upper)]
    row = image_view.PictureRow(view, 1 + len(ends), 0.65)
    row.sheet.titled(found)
    row.picture(0, view.rgb(found.input), "Input")
    for place, (title, values) in enumerate(ends, 1):
        most = view.filled(np.nan)
        for feature in found.ranking:  # nothing is told of pixels that stay as they are
            mask = view.pixels(found, [feature])
            most[mask] = np.fmax(most[mask], values[feature])
        row.mapped(place, most, title, NAMES[found.index]).set_facecolor(Status.STILL.colour)
    return row.sheet.figure


def radii_images(found: RobustnessRadii, view: image_view.ImageView) -> style.Drawing:
    """Draw the input, and the map of radii or the counterfactual with its difference."""
    row = image_view.PictureRow(view, 2 if found.each else 3, 0.85)
    radii_titled(row.sheet, found)
    first = row.picture(0, view.rgb(found.input), "Input")
    if found.each:
        # the smallest proven radius of each pixel's features, dark for small ones
        radii, some = view.filled(np.inf), [one for one in found.brackets if not one.irrelevant]
        for bracket in some:
            mask = view.pixels(found, bracket.features[:1])
            radii[mask] = np.minimum(radii[mask], bracket.lower)
        largest = max((bracket.lower for bracket in some), default=1.0) or 1.0
        radii = np.where(np.isfinite(radii), radii, np.nan)
        title, scale = "Proven radius of each feature alone", Normalize(0.0, largest)
        label = "radius, in input units" if len(found.irrelevant) < len(found.groups) else ""
        map_ = row.mapped(1, radii, title, label, (colormaps["viridis"], scale))
        map_.set_facecolor(NEVER)
        never = f"irrelevant at all radii{' or without room to change' * bool(found.still)}: "
        never += counted(len(found.irrelevant), "feature")
        style.legend(first, {never: NEVER}, loc="upper left", bbox_to_anchor=(0.0, -0.03))
    elif (after := found.bracket.counterfactual) is not None:
        row.mapped(1, view.change(found.input, after.input), "Change", "in input units")
        changed = style.typeset(changed_text(found, after))
        row.picture(2, view.rgb(after.input), f"Nearest counterfactual found {changed}")
    return row.sheet.figure


def ranges_images(found: Ranges, view: image_view.ImageView) -> style.Drawing:
    """Draw the input, and how far each kept pixel may fall and rise."""
    row, x = image_view.PictureRow(view, 3, 0.6), found.input.reshape(-1)
    ranges_titled(row.sheet, found)
    row.picture(0, view.rgb(found.input), "Input")
    falls, rises = view.filled(np.nan), view.filled(np.nan)
    for one in found.ranges:
        if one.lower is not None and one.upper is not None:
            group, pixels = found.groups[one.feature], view.pixels(found, [one.feature])
            start = float(x[group[0]]) if len(group) == 1 else 0.0
            falls[pixels] = np.fmin(falls[pixels], start - one.lower)
            rises[pixels] = np.fmin(rises[pixels], one.upper - start)
    most = max(float(np.nanmax(part, initial=0.0)) for part in (falls, rises))
    scale = style.colour_scale(np.array([0.0, most]))
    for place, part, way in ((1, falls, "fall"), (2, rises, "rise")):
        label, title = "in input units; grey: not kept", f"A kept pixel may {way} by"
        row.mapped(place, part, title, label, scale).set_facecolor(style.FRAME)
    return row.sheet.figure
