"""The figure of an audit: the input, the set audited, and an input that changes the prediction."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from milp_verix.reporting.figures.audit_status import AuditStatus, audit_statuses
from milp_verix.reporting.figures.described_plot import described_audit
from milp_verix.reporting.figures.image_view import ImageView, image_view, overlay
from milp_verix.reporting.figures.outline import mark
from milp_verix.reporting.figures.sheet import HEADER, MARGIN, Drawing, Sheet
from milp_verix.reporting.figures.style import (
    INK,
    LABEL,
    bar_rows,
    colour_bar,
    colour_scale,
    frame,
    legend,
    status_marks,
    typeset,
)
from milp_verix.reporting.figures.writing import drawn
from milp_verix.reporting.words.audit import audit_headline, audit_outcome
from milp_verix.reporting.words.feature_labels import labels_of
from milp_verix.reporting.words.wording import change_text, changed_text, prediction_text, shortened
from milp_verix.results.records.audit import AuditRecord
from milp_verix.results.records.base import Counterfactual
from verix_encodings.arrays import BoolArray, FloatArray

_PANEL, _GAP, _CAPTION, _BELOW, _TALLEST = 2.9, 0.25, 0.25, 0.75, 1.3
_TINT = 0.6
_MOST_BARS, _BAR = 40, 0.22
_NARROWEST, _NARROWEST_BARS = 8.0, 4.0
_LONGEST_NAME, _LONGEST_TITLE = 32, 40
_INCHES_PER_CHARACTER = 0.066
_LEGEND = 0.3


def plot_audit(
    audit: AuditRecord,
    path: str | Path | None = None,
    *,
    image_shape: tuple[int, ...] | None = None,
) -> Drawing:
    """Draw ``audit``; write it to ``path`` if given, in the format of its suffix.

    The input that changes the prediction is the counterexample of a set that is not sound, or the
    counterfactual of some feature of a sound one. Raises ``InputError`` as
    :func:`.explanation_plot.plot_explanation` does.
    """

    def draw() -> Drawing:
        view = image_view(audit, image_shape)
        if view is not None:
            return _images(audit, view, image_shape)
        return _bars(audit) if audit.inputs is None else described_audit(audit, _flip(audit))

    return drawn(draw, path)


def _flip(audit: AuditRecord) -> tuple[int | None, Counterfactual] | None:
    """Return an input that changes the prediction, and the feature it needs freed, if any."""
    if audit.counterexample is not None:
        return None, audit.counterexample
    features = sorted(audit.counterfactuals)
    if not features:
        return None
    feature = features[len(features) // 2]
    return feature, audit.counterfactuals[feature]


def _change(audit: AuditRecord, point: Counterfactual) -> FloatArray:
    before, after = (x.reshape(-1).astype(np.float64) for x in (audit.input, point.input))
    return after - before


def _images(audit: AuditRecord, view: ImageView, image_shape: tuple[int, ...] | None) -> Drawing:
    flip = _flip(audit)
    height = _PANEL * min(_TALLEST, view.height / view.width)
    panels = 2 if flip is None else 4
    top = HEADER + _CAPTION
    sheet = Sheet(panels * (_PANEL + _GAP) - _GAP + 2 * MARGIN, top + height + _BELOW)
    sheet.titled(audit_headline(audit), audit_outcome(audit), audit)
    boxes = [
        sheet.axes(MARGIN + place * (_PANEL + _GAP), top, _PANEL, height) for place in range(panels)
    ]
    predicted = typeset(prediction_text(audit.prediction, 3))
    _picture(boxes[0], view.rgb(audit.input), f"Input: {predicted}")
    masks = _masks(audit, view)
    _picture(boxes[1], _tinted(view.rgb(audit.input), masks), "Set audited")
    present = [status for status, mask in masks.items() if mask.any()]
    _legend(boxes[1], present, loc="upper center", bbox_to_anchor=(0.5, -0.09 / height))
    if flip is None:
        return sheet.figure
    feature, point = flip
    changed = typeset(changed_text(audit, point))
    name = "" if feature is None else shortened(labels_of(audit, image_shape)[feature], 24)
    change = view.change(audit.input, point.input)
    colours, norm = colour_scale(change)
    image = boxes[2].imshow(change, cmap=colours, norm=norm, interpolation="nearest")
    _titled(boxes[2], "Change" if feature is None else f"Without {name}: change")
    bar = sheet.axes(MARGIN + 2 * (_PANEL + _GAP), top + height + 0.09, _PANEL, 0.1)
    colour_bar(image, bar, "in input units")
    kind = "Counterexample" if feature is None else "Counterfactual"
    _picture(boxes[3], view.rgb(point.input), f"{kind} {changed}")
    if feature is not None:
        for axes in boxes[2:]:
            mark(axes, view.covered(list(audit.groups[feature])))
    return sheet.figure


def _masks(audit: AuditRecord, view: ImageView) -> dict[AuditStatus, BoolArray]:
    """Return the pixels of each status but the last; a pixel has the first that a feature has."""
    known, masks = audit_statuses(audit), {}
    taken = np.zeros((view.height, view.width), dtype=bool)
    for status in list(AuditStatus)[:-1]:
        groups = [group for group, own in zip(audit.groups, known, strict=True) if own is status]
        masks[status] = view.covered([i for group in groups for i in group]) & ~taken
        taken |= masks[status]
    return masks


def _tinted(colours: FloatArray, masks: dict[AuditStatus, BoolArray]) -> FloatArray:
    nowhere = np.zeros(colours.shape[:2], dtype=bool)
    tinted = overlay(colours, nowhere, nowhere)
    for status, mask in masks.items():
        tinted[mask] = (1.0 - _TINT) * tinted[mask] + _TINT * np.array(to_rgb(status.colour))
    return tinted


def _bars(audit: AuditRecord) -> Drawing:
    known, flip = audit_statuses(audit), _flip(audit)
    everything = range(len(audit.groups))
    # those outside the set come last, and are left out first
    ranked = sorted(everything, key=lambda f: known[f] is AuditStatus.OUTSIDE)
    shown = sorted(ranked[:_MOST_BARS])
    change = np.zeros(audit.input.size) if flip is None else _change(audit, flip[1])
    lengths = [_strongest(change[list(audit.groups[feature])]) for feature in shown]
    names = labels_of(audit)
    labels = [shortened(names[feature], _LONGEST_NAME) for feature in shown]
    left = MARGIN + max(map(len, labels), default=0) * _INCHES_PER_CHARACTER + 0.3
    top, height = HEADER + _LEGEND, max(len(shown), 1) * _BAR
    sheet = Sheet(max(_NARROWEST, left + _NARROWEST_BARS + MARGIN), top + height + _BELOW)
    sheet.titled(audit_headline(audit), audit_outcome(audit), audit)
    axes = sheet.axes(left, top, sheet.width - MARGIN - left, height)
    places, colours = range(len(shown)), [known[feature].colour for feature in shown]
    axes.barh(places, lengths, color=colours, height=0.7, zorder=2)
    status_marks(axes, colours)
    bar_rows(axes, labels, pad=14)
    axes.set_xlabel(_bars_label(audit, flip), **LABEL)
    present = [status for status in AuditStatus if any(known[f] is status for f in shown)]
    _legend(axes, present, loc="lower left", bbox_to_anchor=(0.0, 1 + 0.07 / height))
    return sheet.figure


def _bars_label(audit: AuditRecord, flip: tuple[int | None, Counterfactual] | None) -> str:
    if flip is None:
        return f"change: no input that {change_text(audit)} is known"
    feature, point = flip
    changed = typeset(changed_text(audit, point))
    if feature is None:
        return f"change of the counterexample ({changed}), in input units"
    name = shortened(labels_of(audit)[feature], _LONGEST_TITLE)
    return f"change of the counterfactual without {name} ({changed}), in input units"


def _strongest(values: FloatArray) -> float:
    return float(values[np.abs(values).argmax()])


def _legend(axes: Axes, statuses: Sequence[AuditStatus], **style: Any) -> None:
    if statuses:
        columns = 2 if len(statuses) > 3 else len(statuses)
        legend(axes, {one.value: one.colour for one in statuses}, ncols=columns, **style)


def _picture(axes: Axes, colours: FloatArray, title: str) -> None:
    axes.imshow(colours, interpolation="nearest")
    _titled(axes, title)


def _titled(axes: Axes, title: str) -> None:
    axes.set_title(title, fontsize=10.0, pad=4, color=INK, parse_math=False)
    frame(axes)
