"""The pictures of a result whose input is an image: input, explanation, signed differences.

Small pictures as data: PNG files with a palette, in an address that needs no network.
"""

from collections.abc import Sequence
from functools import cache
from io import BytesIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from milp_verix.base.number_text import counted, nearest
from milp_verix.results.audit import Audit
from milp_verix.results.base import Counterfactual, Result
from milp_verix.results.contrast import ContrastiveExplanation, Enumeration
from milp_verix.results.explanation import Explanation
from milp_verix.views.figures.parts.described_rows import chosen
from milp_verix.views.figures.parts.image_view import (
    ImageView,
    greys,
    image_view,
    outline,
    overlay,
    sensitivity_map,
    status_masks,
)
from milp_verix.views.figures.parts.style import Status, colour_scale, sensitivity_label, typeset
from milp_verix.views.pages.rendering import Picture, png
from milp_verix.views.words.labels import FeatureLabels, labels_of
from milp_verix.views.words.wording import changed_text, prediction_text
from verix_encodings.arrays import BoolArray, FloatArray

_GREYS = 64
_OVERLAY_GREYS = 16
_COLOURS = 64
_STEPS = 7
"""Shades of red, and of blue: with white these are 15 colours, four bits a pixel."""


def picture(colours: FloatArray) -> str:
    """Return an image of shape (height, width, 3), between 0 and 1, as the address of a PNG."""
    if np.array_equal(colours[..., 0], colours[..., 1]) and np.array_equal(
        colours[..., 0], colours[..., 2]
    ):
        return _address(_levels(colours[..., 0], _GREYS), _greys(_GREYS))
    whole = Image.fromarray(np.rint(colours * 255).astype(np.uint8))
    return _saved(whole.quantize(_COLOURS))


def overlaid(colours: FloatArray, explained: BoolArray, undecided: BoolArray) -> str:
    """Return :func:`.image_view.overlay` as the address of a PNG."""
    status = explained + 2 * undecided.astype(np.uint8)
    levels = _levels(greys(colours)[..., 0], _OVERLAY_GREYS)
    return _address(levels + _OVERLAY_GREYS * status, _overlay_palette())


def difference(change: FloatArray) -> str:
    """Return signed changes, shape (height, width), as the address of a PNG.

    Zero is white, a rise red and a fall blue, the strongest change of the image the darkest; the
    least change has a colour.
    """
    limit = float(np.abs(change).max(initial=0.0)) or 1.0
    steps = np.sign(change) * np.ceil(np.abs(change) / limit * _STEPS)
    return _address((steps + _STEPS).astype(np.uint8), _signed_palette())


def _levels(values: FloatArray, count: int) -> NDArray[np.uint8]:
    return np.rint(values * (count - 1)).clip(0, count - 1).astype(np.uint8)


@cache
def _greys(count: int) -> bytes:
    return _bytes(np.repeat(np.linspace(0, 1, count)[:, None], 3, axis=1))


@cache
def _overlay_palette() -> bytes:
    """Return the greys, then the tints of explained pixels, then those of undecided ones."""
    greys = np.repeat(np.linspace(0, 1, _OVERLAY_GREYS)[None, :, None], 3, axis=2)
    masks = np.repeat(np.eye(3, dtype=bool)[:, :, None], _OVERLAY_GREYS, axis=2)
    return _bytes(overlay(np.repeat(greys, 3, axis=0), masks[1], masks[2]).reshape(-1, 3))


@cache
def _signed_palette() -> bytes:
    shades = np.linspace(-1, 1, 2 * _STEPS + 1)
    colours, scale = colour_scale(shades)
    return _bytes(colours(scale(shades))[:, :3])


def _bytes(colours: NDArray[np.float64]) -> bytes:
    return np.rint(colours * 255).astype(np.uint8).tobytes()


def _address(indices: NDArray[np.uint8], palette: bytes) -> str:
    image = Image.fromarray(np.ascontiguousarray(indices))
    image.putpalette(palette)
    return _saved(image)


def _saved(image: Image.Image) -> str:
    out = BytesIO()
    image.save(out, "PNG")
    return png(out.getvalue())


def pictures(result: Result, most: int, *, sensitivity: bool = False) -> list[Picture]:
    """Return the pictures of ``result``, ``most`` counterfactuals at the most; none for no image.

    An explanation shows the ``sensitivity`` of its features on request, if its order has one.
    Raises ``InputError`` where the stored numbers of a counterfactual are damaged.
    """
    view = image_view(result)
    if view is None:
        return []
    told = typeset(prediction_text(result.prediction, 3))
    shown = [Picture(picture(view.rgb(result.input)), f"input, predicted {told}", f"input: {told}")]
    if isinstance(result, Explanation):
        scores = sensitivity_map(view, result) if sensitivity else None
        if scores is not None:
            told = f"sensitivity: {sensitivity_label(result)}"
            shown.append(Picture(difference(scores), told, told))
        shown += _explanation(result, view, most)
    elif isinstance(result, ContrastiveExplanation):
        shown += _contrast(result, view)
    elif isinstance(result, Enumeration):
        shown += _enumeration(result, view, most)
    elif isinstance(result, Audit):
        shown += _audit(result, view, most)
    return shown


def _explanation(result: Explanation, view: ImageView, most: int) -> list[Picture]:
    masks = status_masks(view, result)
    explained, undecided = masks[Status.EXPLANATION], masks[Status.UNDECIDED]
    labels = labels_of(result)
    kept = f"{result.size} of {len(result.groups)} {labels.unit} kept"
    left = f", {len(result.unknown)} of them undecided" if result.unknown else ""
    alt = f"prediction {typeset(prediction_text(result.prediction, 3))}: {kept}{left}"
    drawn = [Picture(overlaid(view.rgb(result.input), explained, undecided), alt, kept)]
    for feature in chosen(result, most):
        found = result.counterfactuals[feature]
        drawn.append(_change(result, view, labels, (feature,), found, short=True))
    return drawn


def _contrast(result: ContrastiveExplanation, view: ImageView) -> list[Picture]:
    found = result.counterfactual
    if result.contrast is None or found is None:
        return []
    changed = typeset(changed_text(result, found))
    return [
        _change(result, view, labels_of(result), result.contrast, found, short=False),
        Picture(
            picture(view.rgb(found.input)),
            f"counterfactual, predicted {changed.removeprefix('→ ')}",
            f"counterfactual {changed}",
        ),
    ]


def _audit(result: Audit, view: ImageView, most: int) -> list[Picture]:
    colours, labels = view.rgb(result.input), labels_of(result)
    drawn = []
    for features, what in ((result.explanation, "audited"), (result.sound_set, "sound")):
        mask = view.covered([i for feature in features for i in result.groups[feature]])
        told = f"the set {what}: {len(features)} of {len(result.groups)} {labels.unit}"
        drawn.append(Picture(overlaid(colours, mask, np.zeros_like(mask)), told, told))
    if result.counterexample is not None:
        kept = set(result.explanation)
        free = [feature for feature in range(len(result.groups)) if feature not in kept]
        drawn.append(_change(result, view, labels, free, result.counterexample, short=False))
    for feature in list(result.counterfactuals)[:most]:
        found = result.counterfactuals[feature]
        drawn.append(_change(result, view, labels, (feature,), found, short=True))
    return drawn


def _enumeration(result: Enumeration, view: ImageView, most: int) -> list[Picture]:
    colours, unit = view.rgb(result.input), labels_of(result).unit
    drawn = []
    for number_, features in enumerate(result.abductive[:most], 1):
        mask = view.covered([i for feature in features for i in result.groups[feature]])
        told = f"abductive set {number_}: {len(features)} {unit}"
        drawn.append(Picture(overlaid(colours, mask, np.zeros_like(mask)), told, told))
    labels = labels_of(result)
    for features, found in list(result.contrastive.items())[:most]:
        drawn.append(_change(result, view, labels, features, found, short=False))
    return drawn


def _change(
    result: Result,
    view: ImageView,
    labels: FeatureLabels,
    features: Sequence[int],
    found: Counterfactual,
    *,
    short: bool,
) -> Picture:
    """Return a difference with ``features`` outlined."""
    change = view.change(result.input, found.input)
    freed = view.covered([i for feature in features for i in result.groups[feature]])
    changed = typeset(changed_text(result, found))
    what = labels[features[0]] if short else counted(len(features), "outlined feature")
    count = int(np.count_nonzero(change))
    rise, fall = float(change.max(initial=0.0)), float(change.min(initial=0.0))
    span = typeset(f"{nearest(fall, 2)} to {nearest(rise, 2)}")
    alt = (
        f"difference that changes the prediction {changed}: {counted(count, 'pixel')} changed "
        f"by {span}, with {what} freed"
    )
    caption = f"{labels.short(features[0])} {changed}" if short else f"difference, {what}"
    height, width = freed.shape
    return Picture(difference(change), alt, caption, _outlined(freed), width, height)


def _outlined(mask: BoolArray) -> str:
    """Return lines around the pixels in ``mask``, as the path of a drawing of its shape."""
    return "".join(
        f"M{x0 + 0.5:g} {y0 + 0.5:g}L{x1 + 0.5:g} {y1 + 0.5:g}"
        for (x0, y0), (x1, y1) in outline(mask)
    )
