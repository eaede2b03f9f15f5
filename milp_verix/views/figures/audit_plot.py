"""The figure of an audit: the input, the set audited, and an input that changes the prediction."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from milp_verix.results.audit import Audit
from milp_verix.results.base import Counterfactual
from milp_verix.views.figures.described_plot import described_audit
from milp_verix.views.figures.parts.described_rows import (
    AuditStatus,
    audit_statuses,
    right_of,
    short_names,
)
from milp_verix.views.figures.parts.image_view import ImageView, mark, overlay
from milp_verix.views.figures.parts.sheet import HEADER, MARGIN, Drawing, PictureRow, Sheet
from milp_verix.views.figures.parts.style import LABEL, bar_rows, legend, status_marks, typeset
from milp_verix.views.words.audit import audit_headline, audit_outcome
from milp_verix.views.words.labels import labels_of
from milp_verix.views.words.wording import change_text, changed_text, prediction_text, shortened
from verix_encodings.arrays import BoolArray, FloatArray

_BELOW, _TINT = 0.75, 0.6
_MOST_BARS, _BAR = 40, 0.22
_NARROWEST, _NARROWEST_BARS = 8.0, 4.0
_LONGEST_TITLE = 40
_LEGEND = 0.3


def described(audit: Audit) -> Drawing:
    """Draw a row for each feature of a described input."""
    return described_audit(audit, _flip(audit))


def _flip(audit: Audit) -> tuple[int | None, Counterfactual] | None:
    """Return an input that changes the prediction, and the feature it needs freed, if any."""
    if audit.counterexample is not None:
        return None, audit.counterexample
    features = sorted(audit.counterfactuals)
    if not features:
        return None
    feature = features[len(features) // 2]
    return feature, audit.counterfactuals[feature]


def _change(audit: Audit, point: Counterfactual) -> FloatArray:
    before, after = (x.reshape(-1).astype(np.float64) for x in (audit.input, point.input))
    return after - before


def images(audit: Audit, view: ImageView, image_shape: tuple[int, ...] | None) -> Drawing:
    """Draw the input, the set, and an input that changes the prediction, with its change."""
    flip = _flip(audit)
    row = PictureRow(view, 2 if flip is None else 4, _BELOW)
    row.sheet.titled(audit_headline(audit), audit_outcome(audit), audit)
    predicted = typeset(prediction_text(audit.prediction, 3))
    row.picture(0, view.rgb(audit.input), f"Input: {predicted}")
    masks = _masks(audit, view)
    tinted = row.picture(1, _tinted(view.rgb(audit.input), masks), "Set audited")
    present = [status for status, mask in masks.items() if mask.any()]
    _legend(tinted, present, loc="upper center", bbox_to_anchor=(0.5, -0.09 / row.height))
    if flip is None:
        return row.sheet.figure
    feature, point = flip
    changed = typeset(changed_text(audit, point))
    name = "" if feature is None else labels_of(audit, image_shape).fitting(feature, 24)
    change = view.change(audit.input, point.input)
    title = "Change" if feature is None else f"Without {name}: change"
    kind = "Counterexample" if feature is None else "Counterfactual"
    boxes = [
        row.mapped(2, change, title, "in input units"),
        row.picture(3, view.rgb(point.input), f"{kind} {changed}"),
    ]
    for axes in boxes if feature is not None else ():
        mark(axes, view.covered(list(audit.groups[feature or 0])))
    return row.sheet.figure


def _masks(audit: Audit, view: ImageView) -> dict[AuditStatus, BoolArray]:
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


def bars(audit: Audit) -> Drawing:
    """Draw a bar for each feature: its change in an input that changes the prediction."""
    known, flip = audit_statuses(audit), _flip(audit)
    everything = range(len(audit.groups))
    # those outside the set come last, and are left out first
    ranked = sorted(everything, key=lambda f: known[f] is AuditStatus.OUTSIDE)
    shown = sorted(ranked[:_MOST_BARS])
    change = np.zeros(audit.input.size) if flip is None else _change(audit, flip[1])
    lengths = [_strongest(change[list(audit.groups[feature])]) for feature in shown]
    names = labels_of(audit)
    labels = short_names([names[feature] for feature in shown])
    left = right_of(labels, 0.3)
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


def _bars_label(audit: Audit, flip: tuple[int | None, Counterfactual] | None) -> str:
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
