"""Ranges in words: an end is written so that what is said is proven."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf

from milp_verix.base.number_text import counted, exact, percent_of, range_end
from milp_verix.inputs.feature import Feature
from milp_verix.results.ranges import FeatureRange, Ranges
from milp_verix.views import wording
from milp_verix.views.facts import Facts, Wording
from milp_verix.views.labels import SHOWN, FeatureLabels, labels_of
from milp_verix.views.sentences import (
    bounds_sentences,
    claim_text,
    kept_parts,
    move_parts,
    rules_sentences,
)

_WORDS = 6
"""So many words are listed; of a range with more those that it lacks, if these are fewer."""
_LISTED = 24


def ranges_headline(found: Ranges) -> str:
    """Return the result in a line: ``"Decision “no”, ranges of 4 of 13 features"``."""
    size, count = len(found.explanation), counted(len(found.groups), "feature")
    return f"{wording.predicted_text(found)}, ranges of {size} of {count}"


def ranges_outcome(found: Ranges) -> str:
    """Return how far the ranges are decided."""
    if found.unknown_reason is not None:
        return f"nothing is proven: {found.unknown_reason}"
    if found.maximal:
        return "proven, and maximal: no range can be a step wider with the others as they are"
    reasons = [
        beyond.unknown_reason
        for one in found.ranges
        for beyond in one.beyond
        if beyond.unknown_reason is not None
    ]
    return f"proven; {counted(len(reasons), 'step')} beyond them open: {wording.tally(reasons)}"


def ranges_sentence(found: Ranges) -> str:
    """Return the claim, and the share of the rows that it covers.

    ``"As long as age is between 31 and 47 years, the decision “no” stays."``
    """
    if found.unknown_reason is not None:
        return f"No ranges are proven to keep the prediction: {found.unknown_reason}."
    bounded = bounds_sentences(found) if found.ranges else rules_sentences(found)
    return " ".join([_claim(found), *_covered(found), *bounded])


def _claim(found: Ranges, *, values: bool = False) -> str:
    """Return the claim, with the ``values`` of features that stay as they are."""
    kept, near = {*found.explanation}, found
    if found.radii is not None and not wording.one_radius(found):  # rules may tie others to ranges
        reach = (inf if f in kept else radius for f, radius in enumerate(found.radii))
        near = replace(found, radii=tuple(reach))
    free = tuple(f for f in range(len(found.groups)) if f not in kept)
    held = tuple(f for f in free if f in near.still) if values else ()
    conditions = _conditions(found, rule=values) if found.ranges else []
    conditions += kept_parts(found, held) if held else []
    moving = [f for f in free if f not in held]
    parts = [wording.stays_text(found), *move_parts(near, moving, bool(conditions), centres=values)]
    return claim_text(
        [*([f"as long as {wording.joined(conditions)}"] if conditions else []), *parts]
    )


def ranges_facts(found: Ranges) -> Facts:
    """Return the facts about ``found`` that others have not: a row for each range."""
    labels, left = labels_of(found), len(found.ranges) - _LISTED
    rows = [(labels[one.feature], _fact(found, one)) for one in found.ranges[:_LISTED]]
    rows += [("…", counted(left, "other range"))] if left > 0 else []
    rows.append(("outcome", ranges_outcome(found)))
    if found.rows is not None and found.coverage is not None:
        share = f"{found.inside} of {counted(found.rows, 'row')}"
        rows.append(("coverage", f"{share} ({percent_of(found.inside or 0, found.rows)} %)"))
    return rows


def range_text(found: Ranges, one: FeatureRange) -> str:
    """Return a range alone: ``"31 to 47 years"``, ``"sales or tech-support"``, ``"all"``."""
    if one.words is not None:
        return _listed(_kind(found, one), one.words, "or")
    ((low, above), (high, below)), unit = ends_shown(found, one), _unit(found, one)
    if low == high:
        return f"{low}{unit}"
    return f"{'above ' * above}{low} to {'below ' * below}{high}{unit}"


def ends_shown(found: Ranges, one: FeatureRange) -> tuple[tuple[str, bool], ...]:
    """Return the ends of a range in words, and whether each number written is just outside.

    Ends of the domain are written as they were given, others with few digits as
    :func:`~milp_verix.base.number_text.range_end` does.
    """
    group, ends = found.groups[one.feature], (one.lower or 0.0, one.upper or 0.0)
    x = float(found.input.reshape(-1)[group[0]]) if len(group) == 1 else 0.0
    return tuple(
        (exact(end), False)
        if end == limit and len(group) == 1
        else range_end(end, x, found.input.dtype)
        for end, limit in zip(ends, _domain(found, one.feature), strict=True)
    )


def rules_sentence(rules: Sequence[Ranges], covered: Sequence[int], rows: int) -> str:
    """Return ``"These 12 rules prove 71 % of the decisions on 45222 rows."``."""
    if not rules:
        return f"No rule was found that covers any of the {counted(rows, 'row')}."
    share = percent_of(covered[-1], rows)
    which = "This rule proves" if len(rules) == 1 else f"These {len(rules)} rules prove"
    what = "decisions" if rules[0].class_names else "predictions"
    return f"{which} {share} % of the {what}{wording.compared(rules[0])} on {counted(rows, 'row')}."


def rules_facts(rules: Sequence[Ranges], covered: Sequence[int], rows: int) -> Facts:
    """Return a fact for each rule: its share of the rows, what it adds, and its claim."""
    parts = [("rules", rules_sentence(rules, covered, rows))]
    for place, (rule, before, after) in enumerate(zip(rules, [0, *covered], covered, strict=False)):
        added = f"(adds {percent_of(after - before, rows)} %)"
        name = f"{place + 1}: {wording.named_prediction(rule, rule.prediction)}"
        parts.append((name, " ".join([_claim(rule, values=True), *bounds_sentences(rule), added])))
    return parts


def _fact(found: Ranges, one: FeatureRange) -> str:
    words = range_text(found, one)
    if len(found.groups[one.feature]) > 1 and one.ordered:
        words = f"each value changed by {words}"
    if one.ordered and (one.lower, one.upper) != (one.least, one.most) and one.words is None:
        words += f", of {exact(one.least or 0.0)} to {exact(one.most or 0.0)}"
    return words + "".join(f"; {text}" for text in _next(found, one))


def _next(found: Ranges, one: FeatureRange) -> list[str]:
    """Return what happens one step beyond a range, for each end and word."""
    kind = _kind(found, one)
    fields: dict[str, list[str]] = {}
    for beyond in one.beyond:
        value = exact(found.input.dtype.type(beyond.value))
        if kind is not None and one.words is not None:
            words = kind.values
            place = int(beyond.value)
            value = words[place if one.lower is None else kind.codes.index(place)]
        after = "open"
        if beyond.counterfactual is not None:
            after = wording.named_prediction(found, beyond.counterfactual.prediction)
        fields.setdefault(after, []).append(value)
    return [
        f"{_listed(kind, values, 'or')}: {after}"
        if len(values) <= _WORDS
        else f"{len(values)} other words: {after}"
        for after, values in fields.items()
    ]


def _covered(found: Ranges) -> list[str]:
    """Return a sentence on the rows inside, if some were given."""
    if found.rows is None or found.coverage is None:
        return []
    if found.rows == 1:
        return [f"The row given is {'such an' if found.inside else 'no such'} input."]
    rows = counted(found.rows, "row")
    if not found.inside:
        return [f"None of the {rows} given is such an input."]
    after = "keep it"
    if found.delta is None and found.against is None:
        after = f"get {wording.named_prediction(found, found.prediction)}"
    share = f"{percent_of(found.inside, found.rows)} % of the {rows} given"
    if found.inside == 1:
        return [f"One of the {rows} given is such an input."]
    return [f"{share} are such inputs, and all {after}, proven."]


def _conditions(found: Ranges, *, rule: bool) -> list[str]:
    """Return ``"age is between 31 and 47 years"`` and the like; a ``rule`` says what changes."""
    labels = labels_of(found)
    if len(found.ranges) > SHOWN:
        unit = labels.unit
        return [f"the {len(found.ranges)} {unit} of the explanation stay in their ranges"]
    parts = [condition_text(found, one, labels) for one in found.ranges]
    start = " from the rule’s input" * (rule and found.inputs is None)
    several = (len(found.groups[one.feature]) > 1 for one in found.ranges)
    return [f"{text}{start * many}" for text, many in zip(parts, several, strict=True)]


def condition_text(found: Ranges, one: FeatureRange, labels: FeatureLabels) -> str:
    """Return a range as a condition: ``"age is between 31 and 47 years"``."""
    name = labels[one.feature]
    if labels.names is None:  # a comma stands between pixels
        name = name.replace(", ", " ")
    if one.words is not None:
        return f"{name} is {_words(found, one)}"
    ((low, above), (high, below)), unit = ends_shown(found, one), _unit(found, one)
    if len(found.groups[one.feature]) > 1:
        return f"{name} changes by {low} to {high}"
    least = f"{'above' if above else 'at least'} {low}"
    most = f"{'below' if below else 'at most'} {high}"
    both = f"between {low} and {high}"
    limits = _domain(found, one.feature)
    text = {
        (True, True): f"anything from {low} to {high}",
        (True, False): most,
        (False, True): least,
        (False, False): f"{least} and {most}" if above or below else both,
    }[one.lower == limits[0], one.upper == limits[1]]
    return f"{name} is {low if low == high else text}{unit}"


def _domain(found: Ranges, feature: int) -> tuple[float, float]:
    """Return the ends that the domain has for a feature of one coordinate."""
    if found.inputs is not None:
        return found.inputs.features[feature].lower, found.inputs.features[feature].last
    place = found.groups[feature][0]
    low, high = (end[place] if isinstance(end, tuple) else end for end in found.domain)
    return low, high


def is_whole(found: Ranges, one: FeatureRange) -> bool:
    """Return whether a range is all of its feature's domain, as the description has it."""
    if one.words is not None and found.inputs is not None:
        return len(one.words) == len(found.inputs.features[one.feature].values) > 1
    kind = _kind(found, one)  # a range of numbers leaves a missing value out
    return (one.lower, one.upper) == _domain(found, one.feature) and not (kind and kind.missing)


def _words(found: Ranges, one: FeatureRange) -> str:
    words, kind = one.words or (), _kind(found, one)
    missing = [word for word in (kind.values if kind else ()) if word not in words]
    if len(words) > _WORDS and len(missing) < len(words) and missing:
        return f"any but {_listed(kind, missing, 'and')}"
    return "anything" if not missing and len(words) > 1 else _listed(kind, words, "or")


def _listed(kind: Feature | None, words: Sequence[str], last: str) -> str:
    return wording.joined(
        (wording.value_text(kind, word) if kind else word for word in words), last
    )


def _unit(found: Ranges, one: FeatureRange) -> str:
    kind = _kind(found, one)
    return f" {kind.unit}" if kind is not None and kind.unit else ""


def _kind(found: Ranges, one: FeatureRange) -> Feature | None:
    return None if found.inputs is None else found.inputs.features[one.feature]


WORDS = {
    "ranges": Wording(ranges_headline, ranges_outcome, ranges_sentence, ranges_facts),
}
