"""A decision in words for the person it is about: reasons, changes, and what is proven of them."""

from collections.abc import Sequence
from math import inf
from typing import Any

from milp_verix.errors import InputError
from milp_verix.inputs.labelled import values_by_label
from milp_verix.number_text import percent
from milp_verix.reporting.words.feature_labels import change_texts, labels_of
from milp_verix.reporting.words.ranges import condition_text, ranges_sentence
from milp_verix.reporting.words.sentences import directions_of
from milp_verix.reporting.words.wording import counted, joined, named_prediction
from milp_verix.results.records.base import Counterfactual
from milp_verix.results.records.contrast import NEAREST_GAP, ContrastiveExplanationRecord
from milp_verix.results.records.ranges import FeatureRange, RangesRecord

MOST_REASONS = 4
"""Reasons that a notice gives: more than four are seldom understood (12 CFR 1002.9, comment)."""

LIMITS = (
    "It is no legal advice, and says nothing about any right or duty.",
    "It does not say that the decision is right or fair, or that what decided is its cause in "
    "life: it says what the model does with these data.",
    "It does not promise another decision: a person may decide otherwise than the model, and the "
    "model or the data may be replaced.",
    "Claims are about the model named here and inputs within its description. Data that were wrong "
    "or left out are not seen by any proof.",
)


def ranked_ranges(found: RangesRecord, importance: Any) -> list[FeatureRange]:
    """Return the ranges, the most important first.

    ``importance`` has a number for each feature, by name or in a list, or is an object with such
    ``values``, and ``feature_names`` if it has any. Without it the narrowest range comes first, as
    a share of the feature's room or words. Raises ``InputError`` for another value.
    """
    if importance is None:
        return sorted(found.ranges, key=lambda one: _share(found, one))
    given = importance
    if hasattr(given, "values") and not hasattr(given, "keys"):
        names, given = getattr(given, "feature_names", None), given.values
        given = given if names is None else dict(zip(names, given, strict=False))
    given = values_by_label(given, found.feature_names, len(found.groups), "importance")
    try:
        weights = [float(weight) for weight in given]
    except (TypeError, ValueError) as error:
        raise InputError(f"importance has a number for each feature: {error}") from error
    if len(weights) != len(found.groups):
        raise InputError(
            f"importance has {len(weights)} numbers, expected one for each of "
            f"{len(found.groups)} features"
        )
    return sorted(found.ranges, key=lambda one: -abs(weights[one.feature]))


def reason_text(found: RangesRecord, one: FeatureRange) -> str:
    """Return ``"income is at most 37 thousand a year (here: 26)"``."""
    labels = labels_of(found)
    told = condition_text(found, one, labels)
    here = (labels.values or ())[one.feature]
    return told if told.endswith(f" {here}") else f"{told} (here: {here})"


def others_text(found: RangesRecord, shown: Sequence[FeatureRange]) -> str:
    """Return the sentence on kept features that are no reason shown, and on all others."""
    left = [one for one in found.ranges if one not in shown]
    free = len(found.groups) - len(found.ranges)
    told = ""
    if left:
        names = joined([labels_of(found)[one.feature] for one in left])
        told = f"Beside these, {names} {'has' if len(left) == 1 else 'have'} a part in it. "
    if free:
        within = "" if min(found.radii or (inf,)) == inf else ", within the limits told below"
        verb = "makes" if free == 1 else "make"
        told += (
            f"While these values stay as they are, the other {counted(free, 'item')} {verb} no "
            f"difference{within}."
        )
    return told.strip()


def changes_of(contrast: ContrastiveExplanationRecord) -> list[str]:
    """Return each change that is enough, in words: the least first."""
    points: list[Counterfactual] = []
    if contrast.counterfactual is not None:
        points = [contrast.counterfactual, *(one.counterfactual for one in contrast.alternatives)]
    return [
        f"With {joined(change_texts(contrast, point))}, the decision becomes "
        f"{named_prediction(contrast, point.prediction)}."
        for point in points
    ]


def least_text(contrast: ContrastiveExplanationRecord | None) -> str:
    """Return what is proven of the changes."""
    if contrast is None:
        return "No change was looked for."
    held = []
    if contrast.must_not:
        names = [labels_of(contrast)[feature] for feature in contrast.must_not]
        held = [f"{joined(names)} {'stays as it is' if len(names) == 1 else 'stay as they are'}"]
    conditions = [*held, *directions_of(contrast)]
    within = f", as long as {joined(conditions)}" if conditions else ""
    if contrast.robust:
        return f"It is proven that no change in question leads to another decision{within}."
    if contrast.counterfactual is None:
        return "No change was found that leads to another decision; there may be one."
    several = "The first of these is" if contrast.alternatives else "This is"
    if not contrast.proven:
        return f"{several} the best that was found; a smaller change may exist{within}."
    told = f"{several} the change of the fewest items{within}, by proof."
    if contrast.scales is not None:
        told = (
            f"{several} the nearest change{within}: none is nearer by more than "
            f"{percent(NEAREST_GAP)} %, by proof. A change counts as a share of the room that its "
            "item has."
        )
    others = [one for one in contrast.alternatives if one.unknown_reason is None]
    if others and len(others) == len(contrast.alternatives):
        told += " Each other one is the least that does not need all changes of one before it."
    return told


def proven_texts(
    found: RangesRecord, contrast: ContrastiveExplanationRecord | None, certificate: str | None
) -> list[str]:
    """Return what is proven, what was run, and where the proof is."""
    told = [f"Proven: {ranges_sentence(found)}"]
    if contrast is not None and contrast.counterfactual is not None:
        told.append("Each change above was run through the model itself, with the decision told.")
    if certificate is None:
        told.append("No file with the proof was written beside this page.")
    else:
        file = found.model.file
        told.append(
            f"The proof of the first claim is the file {certificate}. Anybody who has the model "
            "can check it, without the software that made it: "
            f"verix-check {file} {certificate}"
        )
    return told


def _share(found: RangesRecord, one: FeatureRange) -> float:
    """Return the share of a feature's room, or of its words, that is in its range."""
    if one.lower is None or one.upper is None or one.least is None or one.most is None:
        assert found.inputs is not None
        return len(one.words or ()) / len(found.inputs.features[one.feature].values)
    return (one.upper - one.lower) / (one.most - one.least or 1.0)
