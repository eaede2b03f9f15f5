"""The pictures of a result whose input is an image, as small PNG files with a palette."""

from collections.abc import Iterator, Sequence
from io import BytesIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from milp_verix.base.number_text import counted, nearest
from milp_verix.results.audit import Audit
from milp_verix.results.base import Counterfactual, Result
from milp_verix.results.contrast import ContrastiveExplanation, Enumeration
from milp_verix.results.explanation import Explanation
from milp_verix.views.feature_status import Status, chosen, sensitivity_label
from milp_verix.views.image_view import (
    ImageView,
    greys,
    image_view,
    outline,
    overlay,
    sensitivity_map,
    status_masks,
)
from milp_verix.views.labels import labels_of
from milp_verix.views.rendering import Picture, png
from milp_verix.views.style import colour_scale, typeset
from milp_verix.views.wording import changed_text, prediction_text
from verix_encodings.arrays import BoolArray, FloatArray

_GREYS = 64
_OVERLAY_GREYS = 16
_COLOURS = 64
_STEPS = 7
"""Shades of red, and of blue: with white these are 15 colours, four bits a pixel."""


def picture(colours: FloatArray) -> str:
    """Return an image of shape (height, width, 3), between 0 and 1, as the address of a PNG."""
    if np.array_equal(colours, np.repeat(colours[..., :1], 3, axis=2)):
        return _address(_levels(colours[..., 0], _GREYS), np.repeat(np.linspace(0, 1, _GREYS), 3))
    whole = Image.fromarray(np.rint(colours * 255).astype(np.uint8))
    return _saved(whole.quantize(_COLOURS))


def overlaid(colours: FloatArray, explained: BoolArray, undecided: BoolArray) -> str:
    """Return :func:`.image_view.overlay` as the address of a PNG."""
    status = explained + 2 * undecided.astype(np.uint8)
    levels = _levels(greys(colours)[..., 0], _OVERLAY_GREYS) + _OVERLAY_GREYS * status
    # the greys, then the tints of explained pixels, then those of undecided ones
    shades = np.tile(np.linspace(0, 1, _OVERLAY_GREYS)[None, :, None], (3, 1, 3))
    masks = np.repeat(np.eye(3, dtype=bool)[:, :, None], _OVERLAY_GREYS, axis=2)
    return _address(levels, overlay(shades, masks[1], masks[2]))


def difference(change: FloatArray) -> str:
    """Return signed changes, shape (height, width), as the address of a PNG.

    Zero is white, a rise red and a fall blue, the strongest change of the image the darkest; the
    least change has a colour.
    """
    limit = float(np.abs(change).max(initial=0.0)) or 1.0
    steps = np.sign(change) * np.ceil(np.abs(change) / limit * _STEPS) + _STEPS
    shades = np.linspace(-1, 1, 2 * _STEPS + 1)
    colours, scale = colour_scale(shades)
    return _address(steps.astype(np.uint8), colours(scale(shades))[:, :3])


def _levels(values: FloatArray, count: int) -> NDArray[np.uint8]:
    return np.rint(values * (count - 1)).clip(0, count - 1).astype(np.uint8)


def _address(indices: NDArray[np.uint8], palette: NDArray[np.float64]) -> str:
    image = Image.fromarray(np.ascontiguousarray(indices))
    image.putpalette(np.rint(palette * 255).astype(np.uint8).tobytes())
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
    text = typeset(prediction_text(result.prediction, 3))
    shown = [Picture(picture(view.rgb(result.input)), f"input, predicted {text}", f"input: {text}")]
    if isinstance(result, Explanation):
        scores = sensitivity_map(view, result) if sensitivity else None
        if scores is not None:
            text = f"sensitivity: {sensitivity_label(result)}"
            shown.append(Picture(difference(scores), text, text))
        shown += _explanation(result, view, most)
    elif isinstance(result, ContrastiveExplanation):
        shown += _contrast(result, view)
    elif isinstance(result, Enumeration):
        for number, features in enumerate(result.abductive[:most], 1):
            text = f"abductive set {number}: {len(features)} {labels_of(result).unit}"
            shown.append(_set(result, view, features, text))
        for features, found in list(result.contrastive.items())[:most]:
            shown.append(_change(result, view, features, found))
    elif isinstance(result, Audit):
        shown += _audit(result, view, most)
    return shown


def _explanation(result: Explanation, view: ImageView, most: int) -> list[Picture]:
    masks = status_masks(view, result)
    explained, undecided = masks[Status.EXPLANATION], masks[Status.UNDECIDED]
    kept = f"{result.size} of {len(result.groups)} {labels_of(result).unit} kept"
    left = f", {len(result.unknown)} of them undecided" if result.unknown else ""
    alt = f"prediction {typeset(prediction_text(result.prediction, 3))}: {kept}{left}"
    return [
        Picture(overlaid(view.rgb(result.input), explained, undecided), alt, kept),
        *_freed(result, view, chosen(result, most)),
    ]


def _contrast(result: ContrastiveExplanation, view: ImageView) -> list[Picture]:
    found = result.counterfactual
    if result.contrast is None or found is None:
        return []
    changed = typeset(changed_text(result, found))
    alt = f"counterfactual, predicted {changed.removeprefix('→ ')}"
    return [
        _change(result, view, result.contrast, found),
        Picture(picture(view.rgb(found.input)), alt, f"counterfactual {changed}"),
    ]


def _audit(result: Audit, view: ImageView, most: int) -> list[Picture]:
    count = f"{len(result.groups)} {labels_of(result).unit}"
    sets = {"audited": result.explanation, "sound": result.sound_set}
    drawn = [
        _set(result, view, features, f"the set {what}: {len(features)} of {count}")
        for what, features in sets.items()
    ]
    if result.counterexample is not None:
        free = sorted({*range(len(result.groups))} - {*result.explanation})
        drawn.append(_change(result, view, free, result.counterexample))
    return [*drawn, *_freed(result, view, list(result.counterfactuals)[:most])]


def _set(result: Result, view: ImageView, features: Sequence[int], text: str) -> Picture:
    mask = view.pixels(result, features)
    address = overlaid(view.rgb(result.input), mask, np.zeros_like(mask))
    return Picture(address, text, text)


def _freed(
    result: Explanation | Audit, view: ImageView, features: Sequence[int]
) -> Iterator[Picture]:
    """Yield the difference that each of ``features`` needs, under its place."""
    labels = labels_of(result)
    for feature in features:
        found = result.counterfactuals[feature]
        caption = f"{labels.short(feature)} {typeset(changed_text(result, found))}"
        yield _difference(result, view, [feature], found, (labels[feature], caption))


def _change(
    result: Result, view: ImageView, features: Sequence[int], found: Counterfactual
) -> Picture:
    """Return the difference that several features make."""
    what = counted(len(features), "outlined feature")
    return _difference(result, view, features, found, (what, f"difference, {what}"))


def _difference(
    result: Result,
    view: ImageView,
    features: Sequence[int],
    found: Counterfactual,
    texts: tuple[str, str],
) -> Picture:
    """Return a difference with ``features`` outlined; ``texts`` are their name and the caption."""
    what, caption = texts
    change, freed = view.change(result.input, found.input), view.pixels(result, features)
    count = counted(int(np.count_nonzero(change)), "pixel")
    rise, fall = float(change.max(initial=0.0)), float(change.min(initial=0.0))
    span = typeset(f"{nearest(fall, 2)} to {nearest(rise, 2)}")
    alt = (
        f"difference that changes the prediction {typeset(changed_text(result, found))}: "
        f"{count} changed by {span}, with {what} freed"
    )
    lines = "".join(
        f"M{x0 + 0.5:g} {y0 + 0.5:g}L{x1 + 0.5:g} {y1 + 0.5:g}"
        for (x0, y0), (x1, y1) in outline(freed)
    )
    height, width = freed.shape
    return Picture(difference(change), alt, caption, lines, width, height)
