"""Words for results, the same in figures, notebooks and on the command line."""

from collections import Counter
from collections.abc import Iterable
from math import inf

from milp_verix.base.errors import printable
from milp_verix.base.number_text import (
    FEW_DIGITS,
    MOST_DIGITS,
    apart,
    counted as counted,  # noqa: PLC0414 - most of those who tell counts import it from here
    down,
    exact,
    nearest,
    percent,
    up,
)
from milp_verix.base.stored_kinds import Prediction
from milp_verix.inputs.radii import common_share
from milp_verix.results.base import Counterfactual, Result
from milp_verix.results.contrast import NEAREST_GAP, ContrastiveExplanation, Enumeration
from milp_verix.results.explanation import Explanation
from milp_verix.results.ranges import RobustnessRadii

_NORMS = {"linf": "L∞", "l1": "L1", "l2": "L2"}
_SHOWN_OUTPUTS = 3
_NAMED = 3


def prediction_text(prediction: Prediction, digits: int = 4) -> str:
    """Return a class or a single output as it is, outputs as ``"(0.5, -1.25, …)"``.

    Of the outputs, the first three.
    """
    if isinstance(prediction, int):
        return str(prediction)
    if len(prediction) == 1:
        return nearest(prediction[0], digits)
    shown = [nearest(value, digits) for value in prediction[:_SHOWN_OUTPUTS]]
    return f"({', '.join(shown + ['…'] * (len(prediction) > _SHOWN_OUTPUTS))})"


def named_prediction(result: Result, prediction: Prediction) -> str:
    """Return ``"“>50K”"`` where the classes have names, ``"class 1"`` where not, or the values."""
    if not isinstance(prediction, int):
        return prediction_text(prediction)
    names = result.class_names
    return f"“{names[prediction]}”" if prediction < len(names) else f"class {prediction}"


def changed_text(result: Result, found: Counterfactual, separator: str = " ") -> str:
    """Return what became of a prediction: ``"→ 7"``, ``"→ 0.5"``.

    Of several outputs it names the one that moved most: ``"output 3 → 0.5"``, with ``separator``
    before the arrow.
    """
    original, changed = result.prediction, found.prediction
    if isinstance(changed, int) or isinstance(original, int):
        return f"→ {prediction_text(changed)}"
    output, _, told = most_moved(result, original, changed, 3)
    name = f"output {output}{separator}" if len(changed) > 1 else ""
    return f"{name}→ {told}"


def most_moved(
    result: Result, before: tuple[float, ...], after: tuple[float, ...], digits: int = 4
) -> tuple[int, str, str]:
    """Return the output that moved most, and its values in so many digits that they differ."""
    moves = [abs(b - a) for a, b in zip(before, after, strict=True)]
    most = moves.index(max(moves))
    return most, *apart(before[most], after[most], result.delta or 0.0, digits)


def becomes_text(result: Result, found: Counterfactual) -> str:
    """Return :func:`changed_text` with the names of the classes if they have some."""
    if isinstance(found.prediction, int) and result.class_names:
        return f"→ {named_prediction(result, found.prediction)}"
    return changed_text(result, found)


def predicted_text(result: Result) -> str:
    """Return how headlines begin: ``"Prediction 7"``, or ``"Decision “>50K”"`` if it has a name.

    The restrictions of the question stand behind it: ``"Prediction 7 (against class 9 alone)"``.
    """
    told = f"Prediction {prediction_text(result.prediction, 3)}"
    if result.class_names and isinstance(result.prediction, int):
        told = f"Decision {named_prediction(result, result.prediction)}"
    if result.output is not None:
        told += f" of output {result.output}"
    asked = restrictions(result)
    return f"{told} ({', '.join(asked)})" if asked else told


def restrictions(result: Result) -> list[str]:
    """Return what narrows the question: ``["against class 9 alone", "2 rules", "δ = 0.5"]``."""
    told = []
    if result.against is not None:
        told.append(f"against {rivals_text(result, 'and')} alone")
    if result.inputs is not None and result.inputs.rules:
        told.append(counted(len(result.inputs.rules), "rule"))
    return told if result.delta is None else [*told, f"δ = {exact(result.delta)}"]


def rivals_text(result: Result, word: str = "or") -> str:
    """Return the classes that the prediction is compared with: ``"“maybe” or “no”"``."""
    return joined([named_prediction(result, rival) for rival in result.against or ()], word)


def joined(texts: Iterable[str], word: str = "and") -> str:
    """Return ``"a"``, ``"a and b"``, ``"a, b and c"``."""
    *first, last = texts
    return f"{', '.join(first)} {word} {last}" if first else last


def listed_texts(texts: list[str], noun: str, most: int) -> str:
    """Return the first ``most`` texts, and how many there are beside them: a ``noun`` for each."""
    left = len(texts) - most
    return joined([*texts[:most], *([counted(left, noun)] if left > 0 else [])])


def size_text(explanation: Explanation) -> str:
    """Return ``"191 of 784 features"``."""
    return f"{explanation.size} of {counted(len(explanation.groups), 'feature')}"


def outcome_text(explanation: Explanation) -> str:
    """Return how small the explanation is, as far as that is proven.

    ``"globally minimum, proven"``; ``"locally minimal, at most 3 features above the minimum"``
    where only a lower bound is proven; ``"locally minimal"``, ``"2 undecided, between 4 and 9
    needed"`` or ``"2 undecided, at most 9 needed"`` without a bound.
    """
    if not explanation.explanation:
        return f"robust: no input in the ball {change_text(explanation)}"
    if explanation.proven:
        which = " in cost" if explanation.costs is not None else ""
        return f"globally minimum{which}{asked_text(explanation)}, proven"
    local = "locally minimal"
    if not explanation.minimal:
        local = f"{len(explanation.unknown)} undecided"
        if explanation.gap is None:
            return f"{local}, {bracket_text(explanation)} needed"
    return local if explanation.gap is None else f"{local}, {_above(explanation, explanation.gap)}"


def bracket_text(explanation: Explanation) -> str:
    """Return how many features the smallest explanation has: ``"between 41 and 212"``."""
    least, most = explanation.needed, explanation.size
    if not least:
        return f"at most {most}"
    return str(most) if least == most else f"between {least} and {most}"


def _above(explanation: Explanation, gap: float) -> str:
    if not explanation.lower_bound:
        return "no lower bound proven"
    minimum = f"the minimum{asked_text(explanation)}"
    if explanation.costs is not None:
        return f"cost at most {up(gap)} above {minimum}"
    return f"at most {counted(int(gap), 'feature')} above {minimum}"


def asked_text(explanation: Explanation) -> str:
    """Return which explanations a minimum is the least of, where not all were asked for."""
    asked = [
        f"{word} {counted(len(features), 'given feature')}"
        for word, features in (("with", explanation.must), ("without", explanation.must_not))
        if features
    ]
    return f" {' and '.join(asked)}" if asked else ""


def norm_text(norm: str) -> str:
    """Return ``"L∞"`` for ``"linf"``, and the like."""
    return _NORMS.get(norm, norm)


def described(result: Result) -> bool:
    """Return whether a description tells the inputs, and no domain of an array stands for it."""
    return result.inputs is not None and not result.inputs.of_domain


def norm_told(result: Result) -> str:
    """Return ``" (L2)"`` for a number that is a radius in another norm than L∞."""
    return "" if result.norm == "linf" else f" ({norm_text(result.norm)})"


def radius_digits(result: Result) -> int:
    """Return how many digits radii have: few, rounded down, of proven ones."""
    return FEW_DIGITS if isinstance(result, RobustnessRadii) else MOST_DIGITS


def radius_text(result: Result, *, short: bool = False) -> str:
    """Return ``"ε = 0.1"``, and of described inputs such as ``"ε = 10 % of each range"``.

    A ``short`` text names no unit: ``"ε = 10 %"``, ``"whole domain"``, ``"ε = 0 to 40"``.
    """
    digits = radius_digits(result)
    if result.inputs is None or result.radii is None or one_radius(result):
        return f"ε = {down(result.epsilon, digits)}{norm_told(result) * short}"
    radii, share = result.radii, common_share(result.inputs, result.radii)
    if min(radii) == inf:
        return "whole domain"
    if min(radii) == max(radii):
        return f"ε = {down(radii[0], digits)}" + ("" if short else " in each feature's unit")
    if share is not None:
        return f"ε = {percent(share, digits)} %" + ("" if short else " of each feature's range")
    ends = f"{down(min(radii), digits)} to {down(max(radii), digits)}"
    return f"ε = {ends}" if short else f"ε of its own for each feature, {ends}"


def one_radius(result: Result) -> bool:
    """Return whether all numbers of an array have one radius that ends, given once or for each."""
    return not described(result) and (not result.radii or len({*result.radii, inf}) == 2)


def own_radii(result: Result) -> bool:
    """Return whether the radii of features are neither one number nor one share of their ranges."""
    inputs, radii = result.inputs, result.radii
    if inputs is None or radii is None or min(radii) == max(radii):
        return False
    return common_share(inputs, radii) is None


def change_text(result: Result) -> str:
    """Return ``"changes the prediction"``, or how far, or which classes are raised above it."""
    if result.delta is not None:
        return f"moves {_output(result, 'an')} by more than {exact(result.delta)}"
    if result.against is None:
        return "changes the prediction"
    return f"raises {rivals_text(result)} above {named_prediction(result, result.prediction)}"


def kept_text(result: Result) -> str:
    """Return ``"the prediction stays"``, or within which δ, or which classes stay below it."""
    if result.delta is not None:
        return f"{_output(result, 'each')} moves by at most {exact(result.delta)}"
    if result.against is None:
        return "the prediction stays"
    told = named_prediction(result, result.prediction)
    return f"{told} is not overtaken by {rivals_text(result)}"


def _output(result: Result, several: str) -> str:
    """Return the output that a regression is about; ``several`` stands before one of many."""
    if result.output is not None:
        return f"output {result.output}"
    one = isinstance(result.prediction, int) or len(result.prediction) == 1
    return "the output" if one else f"{several} output"


def less_text(found: ContrastiveExplanation) -> str:
    """Return ``"change of fewer features"``, or what is cheaper where features have costs."""
    return "cheaper change at the given costs" if found.costs else "change of fewer features"


def headline(explanation: Explanation) -> str:
    """Return the result in a line: ``"Prediction 7, explained by 191 of 784 features"``."""
    return f"{predicted_text(explanation)}, explained by {size_text(explanation)}"


def contrast_headline(found: ContrastiveExplanation) -> str:
    """Return the result in a line: ``"Prediction 7, changed to 2 by 6 of 64 features"``."""
    prediction = predicted_text(found)
    if found.contrast is None or found.counterfactual is None:
        nothing = f"no change in the ball{held_text(found)} {change_text(found)}"
        outcome = nothing if found.robust else "no contrast found"
        return f"{prediction}, {outcome}"
    changed = becomes_text(found, found.counterfactual)
    features = counted(len(found.groups), "feature")
    told = f"{prediction} {changed}, by {found.size} of {features}"
    return told if found.distance is None else f"{told}, at distance {distance_text(found)}"


def distance_text(found: ContrastiveExplanation) -> str:
    """Return the distance of the change, rounded up; if it is proven to be the least, so is this.

    It has four digits, and more where no change is to be nearer than it by a share of 0.1 %.
    """
    distance, bound = found.distance or 0.0, found.lower_bound or 0.0
    told = (up(distance, digits) for digits in range(4, 17))
    near = (one for one in told if bound >= (1 - NEAREST_GAP) * float(one))
    return next(near, exact(distance)) if found.proven else up(distance)


def contrast_outcome(found: ContrastiveExplanation) -> str:
    """Return the claim that is proven of a contrast, in words."""
    if found.robust:
        return f"proven: no change in the ball{held_text(found)} {change_text(found)}"
    if found.contrast is None:
        return f"undecided: {found.unknown_reason or found.statistics.stopped or 'unknown'}"
    where = f"in the ball{held_text(found)}"
    if found.distance is not None:
        none = f"no counterfactual {where} is nearer"
        if found.proven:
            return f"proven: {none} by more than {percent(NEAREST_GAP)} %"
        return f"not proven to be the nearest; {none} than {down(found.lower_bound or 0.0)}"
    if found.proven:
        return f"proven: no {less_text(found)} {where} {change_text(found)}"
    fewer = "costs less" if found.costs else "has fewer features"
    return f"not proven: none {where} {fewer} than {down(found.lower_bound or 0.0)}"


def held_text(found: ContrastiveExplanation) -> str:
    """Return the words for changes that leave the features alone that must not change, if any."""
    features = () if found.inputs is None else found.inputs.features
    one_way = any(f.only for i, f in enumerate(features) if i not in found.must_not)
    directions = " and keeps to the given directions" if one_way else ""
    if not found.must_not:
        return directions.replace(" and", " that")
    names = found.feature_names
    if names is None or len(found.must_not) > _NAMED:
        told = counted(len(found.must_not), "given feature")
    else:
        told = " and ".join(names[feature] for feature in found.must_not)
    return f" that leaves {told} alone{directions}"


def enumeration_headline(found: Enumeration) -> str:
    """Return the result in a line: how many of each kind, and whether these are all."""
    kinds = f"{len(found.abductive)} abductive and {len(found.contrastive)} contrastive"
    complete = "complete" if found.complete else "not complete"
    return f"{predicted_text(found)}: {kinds} explanations, {complete}"


def seconds_text(seconds: float) -> str:
    """Return ``"0.05 s"``, ``"45.3 s"`` or ``"12 min 3 s"``."""
    if seconds < 10:
        return f"{seconds:.2f} s"
    if seconds < 120:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def tally(values: list[str]) -> str:
    """Return the distinct ``values`` with their counts, the most frequent first: ``"7 (5), 3"``."""
    ordered = sorted(Counter(values).items(), key=lambda item: -item[1])
    return ", ".join(value if count == 1 else f"{value} ({count})" for value, count in ordered)


def shortened(text: str, limit: int) -> str:
    """Return ``text``, with its middle left out if it is longer than ``limit``."""
    text = printable(text)
    if len(text) <= limit:
        return text
    tail = (limit - 1) // 2
    return f"{text[: limit - 1 - tail]}…{text[len(text) - tail :]}"
