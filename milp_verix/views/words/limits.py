"""How far features may move, in words: no sentence claims more than its result."""

from collections.abc import Collection, Sequence
from math import inf
from typing import cast

import numpy as np

from milp_verix.base.number_text import counted, down, exact, percent
from milp_verix.inputs.radii import common_share, radii_of_coordinates
from milp_verix.models.loaded_model import BEFORE_LINK
from milp_verix.results.records.base import Result
from milp_verix.views.words.labels import SHOWN, labels_of
from milp_verix.views.words.wording import (
    described,
    joined,
    norm_text,
    one_radius,
    radius_digits,
)

_NAMED = 3
"""So many free features are called by their names, more are counted."""
_LONGEST_RULE = 60


def room_parts(
    result: Result,
    free: Sequence[int],
    others: bool,
    *,
    one_way: Collection[int] = (),
    centres: bool = False,
) -> list[str]:
    """Return how far the features ``free`` may move, as parts of a sentence.

    Those that change ``one_way`` alone are not told to take any value. With ``centres`` each radius
    is told with the value that it is around.
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
    """Return the rooms that end of the features ``free``, and which of these stay as they are.

    They are parts of a sentence, none where each may take any value of the description.
    """
    everywhere, names = {*result.still}, labels_of(result)
    still = [f for f in free if f in everywhere]
    near = [f for f in free if f not in everywhere and _move(result, f) < inf]
    others = others or 0 < len(still) < len(free)
    parts = []
    if near:
        told = _in_ball if one_radius(result) else _near
        parts.append(told(result, near, others, centres))
    if still:
        counts = names.names is None and len(still) > SHOWN
        which = _counted_free(result, still, others) if counts else names.named(still)
        parts.append(f"while {which} {'stays as it is' if len(still) == 1 else 'stay as they are'}")
    return parts


def _in_ball(result: Result, features: Sequence[int], others: bool, centres: bool) -> str:
    """Return ``"while the 4 features stay within ±0.1 of their values and between 0 and 1"``.

    With ``centres``, ``"with age within ±5 of 39"`` for few numbers; the domain is told elsewhere.
    """
    groups = [result.groups[feature] for feature in features]
    if centres and len(groups) <= SHOWN and max(map(len, groups)) == 1:
        x, labels = result.input.reshape(-1).astype(np.float64), labels_of(result)
        radius = down(result.epsilon, radius_digits(result))
        near = [
            f"{labels[f]} within ±{radius} of {exact(float(x[group[0]]))}"
            for f, group in zip(features, groups, strict=True)
        ]
        return f"with {joined(near)}"
    one, radius = len(features) == 1, down(result.epsilon, radius_digits(result))
    reach = f"within ±{radius} of {'its value' if one else 'their values'}"
    if result.norm != "linf":
        reach = f"within {radius} of the input ({norm_text(result.norm)})"
    which = _counted_free(result, features, others)
    reach += " in the rule’s input" * centres + _in_domain(result, features)
    return f"while {which} {'stays' if one else 'stay'} {reach}"


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
    """Return whether the ends of the domain differ by coordinate."""
    return any(isinstance(end, tuple) for end in result.domain)


def _between(least: float, most: float) -> str:
    if most == inf:
        return "anything" if least == -inf else f"at least {exact(least)}"
    return (
        f"at most {exact(most)}" if least == -inf else f"between {exact(least)} and {exact(most)}"
    )


def domain_told(result: Result) -> list[str]:
    """Return a sentence on the domain of an array, which no description tells, if it ends.

    Ends that differ by coordinate are told of each, where they are few.
    """
    if described(result):
        return []
    if _by_coordinate(result) and len(result.groups) == result.input.size <= SHOWN:
        labels = labels_of(result)
        low, high = (np.broadcast_to(end, result.input.size).tolist() for end in result.domain)
        told = [
            f"{labels[feature]} is {_between(low[at], high[at])}"
            for feature, (at,) in enumerate(result.groups)
        ]
        return [f"Only inputs in which {joined(told)} count."]
    inside = _domain_text(result)
    return [f"Only inputs {inside} count."] if inside else []


def _near(result: Result, features: Sequence[int], others: bool, centres: bool) -> str:
    """Return ``"with age within ±5 years of 39 and …"``; many without names are counted."""
    assert result.inputs is not None
    assert result.radii is not None
    labels, digits = labels_of(result), radius_digits(result)
    share = common_share(result.inputs, result.radii)
    many = labels.names is None and len(features) > SHOWN
    which = _counted_free(result, features, others) if many else labels.named(features)
    if share is not None and len(features) > 1 and not centres:
        return f"with {which} within ±{percent(share, digits)} % of their ranges"
    if many:
        return f"with {which} each within its own radius"
    told = []
    for feature in features:
        kind, radius = result.inputs.features[feature], _move(result, feature)
        unit = f" {kind.unit}" if kind.unit else ""
        value = (labels.values or ())[feature].removesuffix(unit)
        told.append(f"{labels[feature]} within ±{down(radius, digits)}{unit} of {value}")
    left = len(told) - SHOWN
    rest = f"{counted(left, 'other feature')} within {'its radius' if left == 1 else 'their radii'}"
    return f"with {joined([*told[:SHOWN], *([rest] if left > 0 else [])])}"


def _move(result: Result, feature: int) -> float:
    """Return how far a feature may move, infinite if it may take every value in its range."""
    if result.inputs is None or result.radii is None or one_radius(result):
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


def bounds_told(result: Result) -> list[str]:
    """Return a sentence on the rules, or on the domain where no radius is told that it cuts."""
    limits = _limits_told(result) or domain_told(result)
    return [*limits, *_link_told(result)]


def rules_told(result: Result) -> list[str]:
    """Return a sentence on the rules of the description, if it has any: the rule if it is one.

    Or one on the domain of an array, where its radii or its ends differ by coordinate. Then one on
    the link of a regression, if ``predict`` returns other numbers than the outputs that are told.
    """
    return [*_limits_told(result), *_link_told(result)]


def _link_told(result: Result) -> list[str]:
    notes = (note for note in result.notes if note.startswith(BEFORE_LINK))
    return [f"{note[0].upper()}{note[1:]}." for note in notes]


def _limits_told(result: Result) -> list[str]:
    rules = () if result.inputs is None else result.inputs.rules
    if not rules:
        differ = not one_radius(result) or _by_coordinate(result)
        return domain_told(result) if differ else []
    if len(rules) == 1 and len(rules[0].text) <= _LONGEST_RULE:
        return [f"Only inputs with {rules[0].text} count."]
    which = "rule" if len(rules) == 1 else f"{len(rules)} rules"
    return [f"Only inputs that satisfy the {which} count."]


def scope_sentences(result: Result) -> list[str]:
    """Return sentences on the changes and the inputs that a claim is about."""
    limits = limit_parts(result, tuple(range(len(result.groups))))
    return [*([f"This holds {', '.join(limits)}."] if limits else []), *rules_told(result)]
