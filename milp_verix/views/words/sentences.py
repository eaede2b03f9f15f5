"""Claims and changes as sentences that need no other knowledge than that of the features' names."""

from collections.abc import Sequence

from milp_verix.base.number_text import counted, exact
from milp_verix.base.stored_kinds import FeatureSet
from milp_verix.results.records.base import Counterfactual, Result
from milp_verix.views.words.labels import SHOWN, change_texts, labels_of
from milp_verix.views.words.limits import room_parts, rules_told
from milp_verix.views.words.wording import (
    joined,
    listed_texts,
    most_moved,
    named_prediction,
    rivals_text,
)

_CHANGES = 6


def counterfactual_sentence(result: Result, found: Counterfactual) -> str:
    """Return the change: ``"With sex: male → female, the decision becomes “no”."``."""
    return " ".join([change_told(result, found), *rules_told(result)])


def held_told(result: Result, features: Sequence[int]) -> str:
    """Return ``"sex stays as it is: no input in question changes it"``."""
    names = labels_of(result).named(features, len(features))
    stay, them = ("stay as they are", "them") if len(features) > 1 else ("stays as it is", "it")
    return f"{names} {stay}: no input in question changes {them}"


def set_claim(result: Result, kept: FeatureSet, which: str = "of the explanation") -> str:
    """Return the claim that it is enough to keep the features of a set."""
    free = sorted({*range(len(result.groups))} - {*kept})
    given = [f"as long as {kept_values(result, kept, which)}"] if kept else []
    return claim_text([stays_text(result), *room_parts(result, free, bool(kept)), *given])


def open_claim(claim: str, reason: str | None) -> str:
    """Return the sentence that it is open if a claim holds, and why."""
    return f"It is open if {claim[0].lower()}{claim[1:-1]}: {reason}."


def claim_text(parts: list[str]) -> str:
    """Return the ``parts`` of a claim as a sentence."""
    told = ", ".join(parts)
    return f"{told[0].upper()}{told[1:]}."


def change_told(result: Result, found: Counterfactual, beside: str = "") -> str:
    """Return ``"With age: 39 → 45 years, the decision becomes “no”."``.

    ``beside`` stands behind the changes.
    """
    if result.inputs is not None:
        told = changes_listed(change_texts(result, found))
    else:
        moved = sum(
            bool((found.input != result.input).reshape(-1)[list(group)].any())
            for group in result.groups
        )
        told = f"a change of {counted(moved, 'feature')}"
    return f"With {told}{beside}, {becomes_told(result, found)}."


def changes_listed(texts: list[str]) -> str:
    """Return the changes in a sentence, the first six of many."""
    return listed_texts(texts, "other change", _CHANGES)


def becomes_told(result: Result, found: Counterfactual) -> str:
    """Return ``"the decision becomes “no”"``; before it, the class that was asked about.

    That class overtakes the predicted one: it scores above it, or wins a tie by the model's rule.
    Of a regression ``"the output becomes 3.2 instead of 1.5"``, for the output that moved most.
    """
    if not isinstance(result.prediction, int) and not isinstance(found.prediction, int):
        most, was, becomes = most_moved(result, result.prediction, found.prediction)
        subject = f"output {most}" if len(result.prediction) > 1 else _subject(result)
        return f"{subject} becomes {becomes} instead of {was}"
    told = named_prediction(result, found.prediction)
    becomes = f"{_subject(result)} becomes {told}"
    if result.against is None:
        return becomes
    label = named_prediction(result, result.prediction)
    if found.rival is None:
        return f"{told} overtakes {label}"
    return f"{named_prediction(result, found.rival)} overtakes {label} and {becomes}"


def compared(result: Result) -> str:
    """Return ``" against “maybe” alone"``, or nothing if the prediction is kept from all others."""
    if result.delta is not None:
        return f" within ±{exact(result.delta)}"
    return "" if result.against is None else f" against {rivals_text(result, 'and')} alone"


def between_told(result: Result) -> str:
    """Return what features decide: ``" between “no” and “maybe”"``, nothing if it is all."""
    if result.delta is not None:
        verb = "stay" if _several(result) else "stays"
        return f" if {_subject(result)} {verb} within ±{exact(result.delta)}"
    if result.against is None:
        return ""
    return f" between {named_prediction(result, result.prediction)} and {rivals_text(result)}"


def _several(result: Result) -> bool:
    """Return whether a regression is about several outputs."""
    return not isinstance(result.prediction, int) and len(result.prediction) > 1


def _subject(result: Result) -> str:
    if result.class_names:
        return "the decision"
    if isinstance(result.prediction, int):
        return "the prediction"
    if result.output is not None:
        return f"output {result.output}"
    return "the output" if len(result.prediction) == 1 else "the outputs"


def decided(result: Result) -> str:
    """Return ``"the decision “yes”"``, ``"the prediction of class 2"`` or ``"the output 1.5"``."""
    told = named_prediction(result, result.prediction)
    if result.output is not None:
        return f"the value {told} of output {result.output}"
    return f"{_subject(result)} {'of ' * told.startswith('class ')}{told}"


def stays_text(result: Result) -> str:
    """Return ``"the decision “yes” stays"``."""
    told = decided(result)
    if not isinstance(result.prediction, int):
        each = "each of " if _several(result) else ""
        return f"{each}{told} moves by at most {exact(result.delta or 0.0)}"
    if result.against is None:
        return f"{told} stays"
    return f"{told} is not overtaken by {rivals_text(result)}"


def kept_values(
    result: Result, features: tuple[int, ...], which: str = "of the explanation"
) -> str:
    """Return ``"age is 39 years and sex is male"``; many features without values are counted."""
    return joined(kept_parts(result, features, which))


def kept_parts(
    result: Result, features: tuple[int, ...], which: str = "of the explanation"
) -> list[str]:
    """Return ``["age is 39 years", "sex is male"]``; features without values are in one part."""
    labels = labels_of(result)
    if labels.values is not None:
        told = [f"{labels[f]} is {labels.values[f]}" for f in features[:SHOWN]]
        left = len(features) - len(told)
        rest = f"{counted(left, 'other feature')} {_keep(left)}"
        return [*told, *([rest] if left > 0 else [])]
    if len(features) <= SHOWN:
        return [f"{joined([labels[f] for f in features])} {_keep(len(features))}"]
    return [f"the {len(features)} {labels.unit} {which} keep their values"]


def _keep(count: int) -> str:
    return "keeps its value" if count == 1 else "keep their values"


def open_told(result: Result, unknown: FeatureSet, aim: str = "") -> list[str]:
    """Return a sentence on features that may be needed, for an ``aim``, if there are any."""
    if not unknown:
        return []
    are = "is" if len(unknown) == 1 else "are"
    return [f"It is open if {labels_of(result).named(unknown)} {are} needed{aim}."]
