"""A decision in words for the person it is about: reasons, changes, and what is proven of them."""

from collections.abc import Sequence
from typing import Any

from milp_verix.base.errors import InputError, refusing
from milp_verix.base.number_text import counted, percent
from milp_verix.inputs.radii import Labels, values_by_label
from milp_verix.results.base import Counterfactual
from milp_verix.results.contrast import NEAREST_GAP, ContrastiveExplanation
from milp_verix.results.ranges import FeatureRange, Ranges
from milp_verix.views.contrast_words import at_costs, contrast_sentence, limits_text
from milp_verix.views.labels import change_texts, labels_of
from milp_verix.views.plot import figure_of
from milp_verix.views.ranges_words import condition_text, is_whole, ranges_sentence
from milp_verix.views.rendering import drawn, rendered
from milp_verix.views.sentences import claim_text, move_parts, rules_sentences
from milp_verix.views.wording import (
    becomes_clause,
    change_text,
    compared,
    decided,
    joined,
    stays_text,
)

MOST_REASONS = 4
"""Reasons that a notice gives: more than four are seldom understood (12 CFR 1002.9, comment)."""


def notice_page(
    found: Ranges, contrast: ContrastiveExplanation | None, importance: Any, proof: str | None
) -> str:
    """Return the notice of a decision as HTML; ``proof`` are words on the file with the proof."""
    ranked = reasons_of(found, importance)
    shown = ranked[:MOST_REASONS]
    decision = f"{decided(found)}{compared(found)}"
    order = "in the order of the importance given"
    order = "the one with the least room first" if importance is None else order
    count = counted(len(shown), "reason") if len(shown) == len(ranked) else "main reasons"
    versions = [f"{name} {version}" for name, version in sorted(found.versions.items())]
    return rendered(
        "notice.html",
        title=f"{decision[0].upper()}{decision[1:]}, and what decided",
        introduction=f"The {count} for {decision}, {order}:"
        if shown
        else f"No reason is listed for {decision}.",
        reasons=[reason_text(found, one) for one in shown],
        others=others_text(found, ranked, len(shown)),
        drawing=drawn(figure_of(found), "The ranges of what decided").drawing,
        changes=[] if contrast is None else changes_of(contrast),
        least=least_text(contrast),
        proven=proven_texts(found, contrast, proof),
        about=[
            ("model", found.model.file),
            ("SHA-256 of the model", found.model.sha256),
            ("SHA-256 of the input", found.input_sha256),
            ("written with", ", ".join(versions)),
        ],
    )


def reasons_of(found: Ranges, importance: Any) -> list[FeatureRange]:
    """Return the ranges that say something, the most important first.

    A range that is all of its feature's domain says nothing, nor does a feature that stays as it
    is. ``importance`` has a number for each feature, by name or in a list, or is an object with
    such ``values``, and ``feature_names`` if it has any. Without it the narrowest range comes
    first, as a share of the feature's headroom or words. Raises ``InputError`` for another value.
    """
    still = {*found.still}
    parts = [one for one in found.ranges if one.feature not in still and not is_whole(found, one)]
    if importance is None:
        return sorted(parts, key=lambda one: _share(found, one))
    given = importance
    if hasattr(given, "values") and not hasattr(given, "keys"):
        names, given = getattr(given, "feature_names", None), given.values
        given = given if names is None else dict(zip(names, given, strict=False))
    given = values_by_label(given, Labels(found.feature_names, len(found.groups)), "importance")
    with refusing("importance has a number for each feature", TypeError, ValueError):
        weights = [float(weight) for weight in given]
    if len(weights) != len(found.groups):
        raise InputError(
            f"importance has {len(weights)} numbers, expected one for each of "
            f"{len(found.groups)} features"
        )
    return sorted(parts, key=lambda one: -abs(weights[one.feature]))


def reason_text(found: Ranges, one: FeatureRange) -> str:
    """Return ``"income is at most 37 thousand a year (here: 26)"``."""
    labels = labels_of(found)
    text = condition_text(found, one, labels)
    here = (labels.values or ())[one.feature]
    return text if text.endswith(f" {here}") else f"{text} (here: {here})"


def others_text(found: Ranges, reasons: Sequence[FeatureRange], shown: int) -> str:
    """Return the sentence on ``reasons`` beyond those ``shown``, and on all other features."""
    kept = [one.feature for one in reasons]
    parts = []
    if left := kept[shown:]:
        names = joined([labels_of(found)[feature] for feature in left])
        parts.append(f"Beside these, {names} {'is' if len(left) == 1 else 'are'} kept, too.")
    if free := [feature for feature in range(len(found.groups)) if feature not in kept]:
        same = ["while these values stay as they are"] if kept else []
        parts.append(claim_text([*same, stays_text(found), *move_parts(found, free, bool(kept))]))
    return " ".join([*parts, *rules_sentences(found)])


def changes_of(contrast: ContrastiveExplanation) -> list[str]:
    """Return each change that is enough, in words: the least first."""
    points: list[Counterfactual] = []
    if contrast.counterfactual is not None:
        points = [contrast.counterfactual, *(one.counterfactual for one in contrast.alternatives)]
    return [
        f"With {joined(change_texts(contrast, point))}, {becomes_clause(contrast, point)}."
        for point in points
    ]


def least_text(contrast: ContrastiveExplanation | None) -> str:
    """Return what is proven of the changes, and within which limits they were sought."""
    if contrast is None:
        return "No change was looked for."
    limits = limits_text(contrast)
    if contrast.robust:
        none = f"No change {change_text(contrast)}{limits}, by proof."
        return " ".join([none, *rules_sentences(contrast)])
    if contrast.counterfactual is None:
        return contrast_sentence(contrast)
    if contrast.against is not None or contrast.delta is not None:
        limits = f" that {change_text(contrast)}{limits}"
    several = "The first of these" if contrast.alternatives else "This"
    if not contrast.proven:
        text = f"{several} is the best that was found{limits}; a smaller change may exist."
    elif contrast.scales is None:
        least = (
            "cheapest change at the given costs" if contrast.costs else "change of the fewest items"
        )
        text = f"{several} is the {least}{limits}, by proof."
    else:
        text = (
            f"{several} is the nearest change{at_costs(contrast)}{limits}, by proof: none is "
            f"nearer by more than {percent(NEAREST_GAP)} %. A change counts as a share of its "
            "item's room."
        )
    others = [one for one in contrast.alternatives if one.unknown_reason is None]
    if contrast.proven and others and len(others) == len(contrast.alternatives):
        text += " Each other one is the least that does not need all changes of one before it."
    return " ".join([text, *rules_sentences(contrast)])


def proven_texts(
    found: Ranges, contrast: ContrastiveExplanation | None, proof: str | None
) -> list[str]:
    """Return what is proven, what was run, and the ``proof`` in words."""
    parts = [f"Proven: {ranges_sentence(found)}"]
    if contrast is not None and contrast.counterfactual is not None:
        parts.append("Each change above was run through the model itself, with the decision told.")
    return [*parts, proof or "No file with the proof was written beside this page."]


def _share(found: Ranges, one: FeatureRange) -> float:
    """Return the share of a feature's headroom, or of its words, that is in its range."""
    if one.lower is None or one.upper is None or one.least is None or one.most is None:
        assert found.inputs is not None
        return len(one.words or ()) / len(found.inputs.features[one.feature].values)
    return (one.upper - one.lower) / (one.most - one.least or 1.0)
