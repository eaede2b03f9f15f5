"""Results as sentences that need no other knowledge than that of the features' names.

A sentence claims no more than its result: features that stay, the room that all others have, the
rules that hold, and what was left undecided.
"""

from collections.abc import Iterable
from math import inf

from milp_verix.inputs.features import Feature
from milp_verix.inputs.radii import common_share, radii_of_coordinates
from milp_verix.records.base import Counterfactual, Result
from milp_verix.records.contrast import NEAREST_GAP, ContrastiveExplanation
from milp_verix.records.explanation import Explanation
from milp_verix.records.relevance import Relevance
from milp_verix.reporting.feature_labels import SHOWN, change_texts, labels_of
from milp_verix.reporting.wording import (
    counted,
    named_prediction,
    norm_text,
    number,
    radius_text,
)

_NAMED = 3
"""So many free features are called by their names, more are counted."""
_CHANGES = 6
_LONGEST_RULE = 60


def explanation_sentence(explanation: Explanation) -> str:
    """Return the claim: ``"The decision “yes” stays, whatever age is, as long as sex is male."``.

    Features that were not decided and the number of rules are in sentences of their own.
    """
    kept = explanation.explanation
    parts = [_stays(explanation), *_room(explanation, explanation.irrelevant, bool(kept))]
    if kept:
        parts.append(f"as long as {_kept(explanation, kept)}")
    return " ".join([f"{', '.join(parts)}.", *_open(explanation), *_rules(explanation)])


def counterfactual_sentence(result: Result, found: Counterfactual, beside: str = "") -> str:
    """Return the change: ``"With sex: male → female, the decision becomes “no”."``.

    ``beside`` stands behind the changes.
    """
    if result.inputs is not None:
        told = _listed(change_texts(result, found), _CHANGES, "other change")
    else:
        moved = sum(
            bool((found.input != result.input).reshape(-1)[list(group)].any())
            for group in result.groups
        )
        told = f"a change of {counted(moved, 'feature')}"
    becomes = f"{_subject(result)} becomes {named_prediction(result, found.prediction)}"
    return f"With {told}{beside}, {becomes}."


def contrast_sentence(found: ContrastiveExplanation) -> str:
    """Return the change that is enough, and whether a smaller one is."""
    kept = []
    if found.must_not:
        kept = [f"as long as {_kept(found, found.must_not, 'given')}"]
    if found.robust:
        free = tuple(f for f in range(len(found.groups)) if f not in found.must_not)
        parts = [_stays(found), *_room(found, free, others=bool(kept)), *kept]
        return " ".join([f"{', '.join(parts)}.", *_rules(found)])
    if found.counterfactual is None:
        return "No change was found that changes the prediction; there may be one."
    told = counterfactual_sentence(found, found.counterfactual)
    if found.proven:
        fewer = "No cheaper change" if found.costs else "No change of fewer features"
        fewer += " does that"
        if found.distance is not None:
            fewer = f"No such change is nearer by more than {100 * NEAREST_GAP:g} %"
        told += f" {' '.join([fewer, *kept])}."
    return " ".join([told, *_rules(found)])


def relevance_sentence(found: Relevance) -> str:
    """Return the part of the protected features, and the people that prove it."""
    names = _and([labels_of(found)[feature] for feature in found.features])
    ball = radius_text(found)
    within = "" if ball == "whole domain" else f" Changes are within {ball}."
    prediction = _predicted(found)
    point, same = found.counterfactual, found.unchanged
    if point is None or found.free is None:
        play = "plays" if len(found.features) == 1 else "play"
        if found.relevant is None:
            return f"It is open if {names} {play} a part in {prediction}: {found.unknown_reason}."
        them = "it" if len(found.features) == 1 else "one of them"
        told = f"In {prediction}, {names} {play} no part: no minimal explanation contains {them}."
        return told + within
    if found.necessary:
        return counterfactual_sentence(found, point, " alone") + within
    decide = "decides" if len(found.features) == 1 else "decide"
    told = f"Together with other changes, {names} {decide}. "
    if same is None or found.inputs is None:
        return told + counterfactual_sentence(found, point) + within
    protected = {found.inputs.names[feature] for feature in found.features}
    changes = change_texts(found, point)
    others, own = (
        [text for text in changes if (text.split(":")[0] in protected) is kind]
        for kind in (False, True)
    )
    becomes = named_prediction(found, point.prediction)
    return (
        f"{told}With {_listed(others, _CHANGES, 'other change')}, {prediction} stays. With "
        f"{_and(own)} as well, it becomes {becomes}.{within}"
    )


def _subject(result: Result) -> str:
    if result.inputs is not None and result.inputs.class_names:
        return "the decision"
    if isinstance(result.prediction, int):
        return "the prediction"
    return "the output" if len(result.prediction) == 1 else "the outputs"


def _predicted(result: Result) -> str:
    """Return ``"the decision “yes”"``, ``"the prediction of class 2"`` or ``"the output 1.5"``."""
    told = named_prediction(result, result.prediction)
    return f"{_subject(result)} {'of ' * told.startswith('class ')}{told}"


def _stays(result: Result) -> str:
    """Return ``"The decision “yes” stays"``."""
    told = _predicted(result).replace("the", "The", 1)
    if not isinstance(result.prediction, int):
        moves = "moves" if len(result.prediction) == 1 else "move"
        return f"{told} {moves} by at most {number(result.delta or 0.0)}"
    if result.against is None:
        return f"{told} stays"
    rivals = [named_prediction(result, rival) for rival in result.against]
    return f"{told} is not overtaken by {_and(rivals, 'or')}"


def _kept(result: Result, features: tuple[int, ...], which: str = "of the explanation") -> str:
    """Return ``"age is 39 years and sex is male"``; many features without values are counted."""
    labels = labels_of(result)
    if labels.values is not None:
        told = [f"{labels[f]} is {labels.values[f]}" for f in features[:SHOWN]]
        left = len(features) - len(told)
        rest = f"{counted(left, 'other feature')} {_keep(left)}"
        return _and([*told, *([rest] if left > 0 else [])])
    if len(features) <= SHOWN:
        return f"{_and([labels[f] for f in features])} {_keep(len(features))}"
    return f"the {len(features)} {labels.unit} {which} keep their values"


def _keep(count: int) -> str:
    return "keeps its value" if count == 1 else "keep their values"


def _room(result: Result, free: tuple[int, ...], others: bool) -> list[str]:
    """Return how far the features ``free`` may move, as parts of a sentence."""
    if not free:
        return []
    if result.inputs is None or result.radii is None:
        which = _counted_free(result, free, others)
        reach = f"within ±{number(result.epsilon)} of their values"
        if result.norm != "linf":
            reach = f"within {number(result.epsilon)} of the input ({norm_text(result.norm)})"
        return [f"while {which} {'stays' if len(free) == 1 else 'stay'} {reach}"]
    moves = {feature: _move(result, feature) for feature in free}
    anything = [f for f in free if moves[f] == inf]
    still = [f for f in free if moves[f] == 0]
    near = [f for f in free if 0 < moves[f] < inf]
    others = others or len(anything) < len(free)
    parts = []
    if anything:
        alone = len(anything) == 1
        which = _counted_free(result, tuple(anything), others)
        parts.append(f"whatever {which} {'is' if alone else 'are'}")
    if near:
        parts.append(_near(result, near))
    if still:
        verb = "stays as it is" if len(still) == 1 else "stay as they are"
        parts.append(f"while {_counted_free(result, tuple(still), others)} {verb}")
    return parts


def _near(result: Result, features: list[int]) -> str:
    """Return ``"with age within ±5 years of 39 and …"``."""
    assert result.inputs is not None
    assert result.radii is not None
    labels = labels_of(result)
    share = common_share(result.inputs, result.radii)
    if share is not None and len(features) > 1:
        names = _listed([labels[f] for f in features], SHOWN, "other feature")
        return f"with {names} within ±{number(100 * share)} % of their ranges"
    told = []
    for feature in features:
        kind, radius = result.inputs.features[feature], _move(result, feature)
        unit = f" {kind.unit}" if kind.unit else ""
        value = (labels.values or ())[feature].removesuffix(unit)
        told.append(f"{labels[feature]} within ±{number(radius)}{unit} of {value}")
    return f"with {_listed(told, SHOWN, 'other feature in its radius')}"


def _move(result: Result, feature: int) -> float:
    """Return how far a feature may move, infinite if it may take every value in its range."""
    assert result.inputs is not None
    assert result.radii is not None
    kind: Feature = result.inputs.features[feature]
    start = result.groups[feature][0]
    radius = float(radii_of_coordinates(result.inputs, result.radii)[start])
    if radius == 0 or kind.upper == kind.lower:
        return 0.0
    value = float(result.input.reshape(-1)[start])
    whole = kind.unordered or max(kind.upper - value, value - kind.lower) <= radius
    return inf if whole else radius


def _counted_free(result: Result, free: tuple[int, ...], others: bool) -> str:
    labels = labels_of(result)
    if result.inputs is not None and len(free) <= _NAMED:
        return _and([labels[feature] for feature in free])
    other = "other " if others else ""
    if len(free) == 1:
        return f"the {other or 'one '}{labels.unit.removesuffix('s')}"
    return f"the {other}{len(free)} {labels.unit}"


def _open(explanation: Explanation) -> list[str]:
    """Return a sentence on features that were not decided, if there are any."""
    unknown = explanation.unknown
    if not unknown:
        return []
    labels = labels_of(explanation)
    names = _listed([labels[feature] for feature in unknown], SHOWN, "other feature")
    return [f"It is open if {names} {'is' if len(unknown) == 1 else 'are'} needed."]


def _rules(result: Result) -> list[str]:
    """Return a sentence on the rules of the description, if it has any: the rule if it is one."""
    rules = () if result.inputs is None else result.inputs.rules
    if not rules:
        return []
    if len(rules) == 1 and len(rules[0].text) <= _LONGEST_RULE:
        return [f"Only inputs with {rules[0].text} count."]
    which = "rule" if len(rules) == 1 else f"{len(rules)} rules"
    return [f"Only inputs that satisfy the {which} count."]


def _listed(texts: list[str], most: int, noun: str) -> str:
    left = len(texts) - most
    return _and([*texts[:most], *([counted(left, noun)] if left > 0 else [])])


def _and(texts: Iterable[str], word: str = "and") -> str:
    """Return ``"a"``, ``"a and b"``, ``"a, b and c"``."""
    *first, last = texts
    return f"{', '.join(first)} {word} {last}" if first else last
