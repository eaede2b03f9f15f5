"""Claims as sentences that need no other knowledge than that of the features' names.

A sentence claims no more than its result: features that stay, the headroom that all others have,
the rules that hold, and what was left undecided.
"""

from collections.abc import Collection, Sequence
from math import inf
from typing import cast

import numpy as np

from milp_verix.base.number_text import counted, down, exact, percent
from milp_verix.base.stored_kinds import FeatureSet
from milp_verix.inputs.radii import common_share, radii_of_coordinates
from milp_verix.models.loaded_model import BEFORE_LINK
from milp_verix.results.base import Counterfactual, Result
from milp_verix.views import wording
from milp_verix.views.labels import SHOWN, change_texts, labels_of

_NAMED = 3
"""So many free features are called by their names, more are counted."""
_CHANGES = 6
_LONGEST_RULE = 60


def set_claim(result: Result, kept: FeatureSet, which: str = "of the explanation") -> str:
    """Return the claim that it is enough to keep the features of a set."""
    free = sorted({*range(len(result.groups))} - {*kept})
    given = [f"as long as {kept_values(result, kept, which)}"] if kept else []
    return claim_text([wording.stays_text(result), *move_parts(result, free, bool(kept)), *given])


def open_claim(claim: str, reason: str | None) -> str:
    """Return the sentence that it is open if a claim holds, and why."""
    return f"It is open if {claim[0].lower()}{claim[1:-1]}: {reason}."


def claim_text(parts: list[str]) -> str:
    """Return the ``parts`` of a claim as a sentence."""
    text = ", ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def change_sentence(result: Result, found: Counterfactual, beside: str = "") -> str:
    """Return ``"With age: 39 → 45 years`` and ``beside``, ``the decision becomes “no”."``."""
    if result.inputs is not None:
        text = changes_listed(change_texts(result, found))
    else:
        different = (found.input != result.input).reshape(-1)
        moved = sum(bool(different[list(group)].any()) for group in result.groups)
        text = f"a change of {counted(moved, 'feature')}"
    return f"With {text}{beside}, {wording.becomes_clause(result, found)}."


def changes_listed(texts: list[str]) -> str:
    """Return the changes in a sentence, the first six of many."""
    return wording.listed_texts(texts, "other change", _CHANGES)


def counterfactual_sentence(result: Result, found: Counterfactual) -> str:
    """Return the change: ``"With sex: male → female, the decision becomes “no”."``."""
    return " ".join([change_sentence(result, found), *rules_sentences(result)])


def kept_values(result: Result, features: FeatureSet, which: str) -> str:
    """Return ``"age is 39 years and sex is male"``; many features without values are counted."""
    return wording.joined(kept_parts(result, features, which))


def kept_parts(
    result: Result, features: FeatureSet, which: str = "of the explanation"
) -> list[str]:
    """Return ``["age is 39 years", "sex is male"]``; features without values are in one part."""
    labels = labels_of(result)
    if labels.values is not None:
        parts = [f"{labels[f]} is {labels.values[f]}" for f in features[:SHOWN]]
        left = len(features) - len(parts)
        return [*parts, *([f"{counted(left, 'other feature')} {_keep(left)}"] if left else [])]
    if len(features) <= SHOWN:
        return [f"{wording.joined([labels[f] for f in features])} {_keep(len(features))}"]
    return [f"the {len(features)} {labels.unit} {which} keep their values"]


def _keep(count: int) -> str:
    return "keeps its value" if count == 1 else "keep their values"


def held_text(result: Result, features: Sequence[int]) -> str:
    """Return ``"sex stays as it is: no input in question changes it"``."""
    names = labels_of(result).named(features, len(features))
    stay, them = ("stay as they are", "them") if len(features) > 1 else ("stays as it is", "it")
    return f"{names} {stay}: no input in question changes {them}"


def open_sentences(result: Result, unknown: FeatureSet, aim: str = "") -> list[str]:
    """Return a sentence on features that may be needed, for an ``aim``, if there are any."""
    if not unknown:
        return []
    are = "is" if len(unknown) == 1 else "are"
    return [f"It is open if {labels_of(result).named(unknown)} {are} needed{aim}."]


def move_parts(
    result: Result,
    free: Sequence[int],
    others: bool,
    *,
    one_way: Collection[int] = (),
    centres: bool = False,
) -> list[str]:
    """Return how far the features ``free`` may move, as parts of a sentence.

    Those that change ``one_way`` alone are not said to take any value. With ``centres`` each radius
    is stated with the value that it is around.
    """
    still = {*result.still, *one_way}
    anything = [f for f in free if f not in still and _move(result, f) == inf]
    parts = []
    if anything:
        among = others or len(anything) < len(free)
        verb = "is" if len(anything) == 1 else "are"
        parts.append(f"whatever {_counted_free(result, anything, among)} {verb}")
    return [*parts, *limit_parts(result, free, others, centres)]


def limit_parts(
    result: Result, free: Sequence[int], others: bool = False, centres: bool = False
) -> list[str]:
    """Return how far those of ``free`` move that may not take any value, and which stay."""
    everywhere, names = {*result.still}, labels_of(result)
    still = [f for f in free if f in everywhere]
    near = [f for f in free if f not in everywhere and _move(result, f) < inf]
    others = others or 0 < len(still) < len(free)
    parts = []
    if near:
        describe = _in_ball if wording.one_radius(result) else _near
        parts.append(describe(result, near, others, centres))
    if still:
        counts = names.names is None and len(still) > SHOWN
        which = _counted_free(result, still, others) if counts else names.named(still)
        parts.append(f"while {which} {'stays as it is' if len(still) == 1 else 'stay as they are'}")
    return parts


def _in_ball(result: Result, features: Sequence[int], others: bool, centres: bool) -> str:
    """Return ``"while the 4 features stay within ±0.1 of their values and between 0 and 1"``.

    With ``centres``, ``"with age within ±5 of 39"`` for few numbers; the domain is stated
    elsewhere.
    """
    groups, one = [result.groups[feature] for feature in features], len(features) == 1
    radius = down(result.epsilon, wording.radius_digits(result))
    if centres and len(groups) <= SHOWN and max(map(len, groups)) == 1:
        x, labels = result.input.reshape(-1).astype(np.float64), labels_of(result)
        near = [
            f"{labels[f]} within ±{radius} of {exact(float(x[group[0]]))}"
            for f, group in zip(features, groups, strict=True)
        ]
        return f"with {wording.joined(near)}"
    reach = f"within ±{radius} of {'its value' if one else 'their values'}"
    if result.norm != "linf":
        reach = f"within {radius} of the input ({wording.norm_text(result.norm)})"
    reach += " in the rule’s input" * centres + _in_domain(result, features)
    return f"while {_counted_free(result, features, others)} {'stays' if one else 'stay'} {reach}"


def _in_domain(result: Result, features: Sequence[int]) -> str:
    """Return ``" and between 0 and 1"``; nothing if the ball stays inside the domain."""
    at = [i for feature in features for i in result.groups[feature]]
    x = result.input.reshape(-1)[at].astype(np.float64)
    low, high = (np.broadcast_to(end, result.input.size)[at] for end in result.domain)
    if np.all((x - result.epsilon >= low) & (x + result.epsilon <= high)):
        return ""
    return f" and {_domain_text(result)}"


def _domain_text(result: Result) -> str:
    """Return ``"between 0 and 1"``; empty for a domain without ends."""
    if _by_coordinate(result):
        return "in the domain"
    least, most = cast(tuple[float, float], result.domain)
    return "" if (least, most) == (-inf, inf) else _between(least, most)


def _by_coordinate(result: Result) -> bool:
    return any(isinstance(end, tuple) for end in result.domain)


def _between(least: float, most: float) -> str:
    if least == -inf:
        return "anything" if most == inf else f"at most {exact(most)}"
    return (
        f"at least {exact(least)}" if most == inf else f"between {exact(least)} and {exact(most)}"
    )


def _near(result: Result, features: Sequence[int], others: bool, centres: bool) -> str:
    """Return ``"with age within ±5 years of 39 and …"``; many without names are counted."""
    assert result.inputs is not None
    assert result.radii is not None
    labels, digits = labels_of(result), wording.radius_digits(result)
    share = common_share(result.inputs, result.radii)
    many = labels.names is None and len(features) > SHOWN
    which = _counted_free(result, features, others) if many else labels.named(features)
    if share is not None and len(features) > 1 and not centres:
        return f"with {which} within ±{percent(share, digits)} % of their ranges"
    if many:
        return f"with {which} each within its own radius"
    parts = []
    for feature in features:
        kind, radius = result.inputs.features[feature], _move(result, feature)
        unit = f" {kind.unit}" if kind.unit else ""
        value = (labels.values or ())[feature].removesuffix(unit)
        parts.append(f"{labels[feature]} within ±{down(radius, digits)}{unit} of {value}")
    left = len(parts) - SHOWN
    rest = f"{counted(left, 'other feature')} within {'its radius' if left == 1 else 'their radii'}"
    return f"with {wording.joined([*parts[:SHOWN], *([rest] if left > 0 else [])])}"


def _move(result: Result, feature: int) -> float:
    """Return how far a feature may move, infinite if it may take every value in its range."""
    if result.inputs is None or result.radii is None or wording.one_radius(result):
        return result.epsilon
    kind = result.inputs.features[feature]
    start = result.groups[feature][0]
    radius = float(radii_of_coordinates(result.inputs, result.radii)[start])
    if radius == 0 or kind.upper == kind.lower:
        return 0.0
    value = float(result.input.reshape(-1)[start])
    if kind.missing and value > kind.last and radius < inf:
        return 0.0  # no finite radius leads from a missing value
    whole = kind.unordered or max(kind.upper - value, value - kind.lower) <= radius
    # nor to one
    return inf if whole and (radius == inf or not kind.missing) else radius


def _counted_free(result: Result, free: Sequence[int], others: bool) -> str:
    labels = labels_of(result)
    if result.inputs is not None and len(free) <= _NAMED:
        return labels.named(free)
    other = "other " if others else ""
    if len(free) == 1:
        return f"the {other or 'one '}{labels.unit.removesuffix('s')}"
    return f"the {other}{len(free)} {labels.unit}"


def scope_sentences(result: Result) -> list[str]:
    """Return sentences on the changes and the inputs that a claim is about."""
    limits = limit_parts(result, tuple(range(len(result.groups))))
    return [*([f"This holds {', '.join(limits)}."] if limits else []), *rules_sentences(result)]


def bounds_sentences(result: Result) -> list[str]:
    """Return a sentence on the rules, or on the domain where no radius is stated that it cuts."""
    return [*(_limits_sentences(result) or _domain_sentences(result)), *_link_sentences(result)]


def rules_sentences(result: Result) -> list[str]:
    """Return sentences on the rules, and on the link of a regression if ``predict`` applies one.

    Without rules, on the domain of an array, where its radii or its ends differ by coordinate.
    """
    return [*_limits_sentences(result), *_link_sentences(result)]


def _limits_sentences(result: Result) -> list[str]:
    rules = () if result.inputs is None else result.inputs.rules
    if not rules:
        differ = not wording.one_radius(result) or _by_coordinate(result)
        return _domain_sentences(result) if differ else []
    if len(rules) == 1 and len(rules[0].text) <= _LONGEST_RULE:
        return [f"Only inputs with {rules[0].text} count."]
    which = "rule" if len(rules) == 1 else f"{len(rules)} rules"
    return [f"Only inputs that satisfy the {which} count."]


def _domain_sentences(result: Result) -> list[str]:
    """Return a sentence on the domain of an array if it ends; on few coordinates one by one."""
    if wording.described(result):
        return []
    if _by_coordinate(result) and len(result.groups) == result.input.size <= SHOWN:
        labels = labels_of(result)
        low, high = (np.broadcast_to(end, result.input.size).tolist() for end in result.domain)
        parts = [
            f"{labels[feature]} is {_between(low[at], high[at])}"
            for feature, (at,) in enumerate(result.groups)
        ]
        return [f"Only inputs in which {wording.joined(parts)} count."]
    inside = _domain_text(result)
    return [f"Only inputs {inside} count."] if inside else []


def _link_sentences(result: Result) -> list[str]:
    notes = (note for note in result.notes if note.startswith(BEFORE_LINK))
    return [f"{note[0].upper()}{note[1:]}." for note in notes]
