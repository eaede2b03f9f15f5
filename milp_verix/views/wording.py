"""Words for results, the same in figures, notebooks and on the command line."""

import re
from collections import Counter
from collections.abc import Iterable
from math import inf

from milp_verix.base.errors import printable
from milp_verix.base.number_text import (
    FEW_DIGITS,
    MOST_DIGITS,
    apart,
    counted,
    down,
    exact,
    nearest,
    percent,
)
from milp_verix.base.stored_kinds import Prediction
from milp_verix.inputs.feature import MISSING, Feature
from milp_verix.inputs.radii import common_share
from milp_verix.problem.problem import ProblemData
from milp_verix.problem.question import Classification, Regression
from milp_verix.results.base import Counterfactual, Result

_NORMS = {"linf": "L∞", "l1": "L1", "l2": "L2"}
_REACHES = {
    "linf": "each by at most {}",
    "l1": "by at most {} in all",
    "l2": "by at most {} in length",
}
_SHOWN_OUTPUTS = 3
_READ_ON = re.compile(
    r"^$|^\s|\s$|[“”]|[,;:] | (?:and|as|are|but|is|or|stays?|than|to|while|with|→) "
    r"|^(?:[<>≤≥=±]|any(?:thing)?$|(?:any|above|as|at|below|between|down|from|less|missing|more|not"
    r"|over|under|up|whatever|within) )",
    re.IGNORECASE,
)
"""Texts that may be read as more than one word of a column: as several, or as a condition."""


def prediction_text(prediction: Prediction, digits: int = 4) -> str:
    """Return a class or a single output as it is, the first outputs as ``"(0.5, -1.25, …)"``."""
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

    Of several outputs for the one that moved most: ``"output 3"``, ``separator``, ``"→ 0.5"``.
    """
    original, changed = result.prediction, found.prediction
    if isinstance(changed, int) or isinstance(original, int):
        return f"→ {prediction_text(changed)}"
    output, _, text = most_moved(result, original, changed, 3)
    name = f"output {output}{separator}" if len(changed) > 1 else ""
    return f"{name}→ {text}"


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
    """Return how headlines begin: ``"Decision “>50K”"``, ``"Prediction 7 (against 9 alone)"``."""
    text = f"Prediction {prediction_text(result.prediction, 3)}"
    if result.class_names and isinstance(result.prediction, int):
        text = f"Decision {named_prediction(result, result.prediction)}"
    if result.output is not None:
        text += f" of output {result.output}"
    limits = restrictions(result)
    return f"{text} ({', '.join(limits)})" if limits else text


def restrictions(result: Result) -> list[str]:
    """Return what narrows the question: ``["against class 9 alone", "2 rules", "δ = 0.5"]``."""
    parts = []
    if result.against is not None:
        parts.append(f"against {rivals_text(result, 'and')} alone")
    if result.inputs is not None and result.inputs.rules:
        parts.append(counted(len(result.inputs.rules), "rule"))
    return parts if result.delta is None else [*parts, f"δ = {exact(result.delta)}"]


def rivals_text(result: Result, word: str = "or") -> str:
    """Return the classes that the prediction is compared with: ``"“maybe” or “no”"``."""
    return joined([named_prediction(result, rival) for rival in result.against or ()], word)


def joined(texts: Iterable[str], word: str = "and") -> str:
    """Return ``"a"``, ``"a and b"``, ``"a, b and c"``."""
    *first, last = texts
    return f"{', '.join(first)} {word} {last}" if first else last


def as_one(text: str) -> str:
    """Return the name or word of a column, in quotes where it may be read as more than that."""
    return f"“{text}”" if _READ_ON.search(text) else text


def value_text(feature: Feature, text: str) -> str:
    """Return a value: a word as by :func:`as_one`, and in quotes “missing” that is not missing."""
    own = text == MISSING and not feature.missing
    return f"“{text}”" if own else as_one(text) if feature.values else text


def listed_texts(texts: list[str], noun: str, most: int) -> str:
    """Return the first ``most`` texts, and how many there are beside them: a ``noun`` for each."""
    left = len(texts) - most
    return joined([*texts[:most], *([counted(left, noun)] if left > 0 else [])])


def norm_text(norm: str) -> str:
    """Return ``"L∞"`` for ``"linf"``, and the like."""
    return _NORMS.get(norm, norm)


def described(result: Result) -> bool:
    """Return whether a description tells the inputs, and no domain of an array stands for it."""
    return result.inputs is not None and not result.inputs.of_domain


def norm_suffix(result: Result) -> str:
    """Return ``" (L2)"`` for a number that is a radius in another norm than L∞."""
    return "" if result.norm == "linf" else f" ({norm_text(result.norm)})"


def radius_digits(result: Result) -> int:
    """Return how many digits radii have: few, rounded down, of proven ones."""
    return FEW_DIGITS if getattr(result, "kind", "") == "radius" else MOST_DIGITS


def radius_text(result: Result, *, short: bool = False) -> str:
    """Return ``"ε = 0.1"``, and of described inputs such as ``"ε = 10 % of each range"``.

    A ``short`` text names no unit: ``"ε = 10 %"``, ``"whole domain"``, ``"ε = 0 to 40"``.
    """
    digits = radius_digits(result)
    if result.inputs is None or result.radii is None or one_radius(result):
        return f"ε = {down(result.epsilon, digits)}{norm_suffix(result) * short}"
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
    radii = result.radii
    return not described(result) and (not radii or min(radii) == max(radii) < inf)


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
    text = named_prediction(result, result.prediction)
    return f"{text} is not overtaken by {rivals_text(result)}"


def _output(result: Result, several: str) -> str:
    """Return the output that a regression is about; ``several`` stands before one of many."""
    if result.output is not None:
        return f"output {result.output}"
    one = isinstance(result.prediction, int) or len(result.prediction) == 1
    return "the output" if one else f"{several} output"


def becomes_clause(result: Result, found: Counterfactual) -> str:
    """Return ``"the decision becomes “no”"``; before it, the class that was asked about.

    That class overtakes the predicted one: it scores above it, or wins a tie by the model's rule.
    Of a regression ``"the output becomes 3.2 instead of 1.5"``, for the output that moved most.
    """
    if not isinstance(result.prediction, int) and not isinstance(found.prediction, int):
        most, was, becomes = most_moved(result, result.prediction, found.prediction)
        subject = f"output {most}" if len(result.prediction) > 1 else _subject(result)
        return f"{subject} becomes {becomes} instead of {was}"
    text = named_prediction(result, found.prediction)
    becomes = f"{_subject(result)} becomes {text}"
    if result.against is None:
        return becomes
    label = named_prediction(result, result.prediction)
    if found.rival is None:
        return f"{text} overtakes {label}"
    return f"{named_prediction(result, found.rival)} overtakes {label} and {becomes}"


def compared(result: Result) -> str:
    """Return ``" against “maybe” alone"``, or nothing if the prediction is kept from all others."""
    if result.delta is not None:
        return f" within ±{exact(result.delta)}"
    return "" if result.against is None else f" against {rivals_text(result, 'and')} alone"


def between_text(result: Result) -> str:
    """Return what features decide: ``" between “no” and “maybe”"``, nothing if it is all."""
    if result.delta is not None:
        verb = "stay" if _several(result) else "stays"
        return f" if {_subject(result)} {verb} within ±{exact(result.delta)}"
    if result.against is None:
        return ""
    return f" between {named_prediction(result, result.prediction)} and {rivals_text(result)}"


def _several(result: Result) -> bool:
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
    text = named_prediction(result, result.prediction)
    if result.output is not None:
        return f"the value {text} of output {result.output}"
    return f"{_subject(result)} {'of ' * text.startswith('class ')}{text}"


def stays_text(result: Result) -> str:
    """Return ``"the decision “yes” stays"``."""
    text = decided(result)
    if not isinstance(result.prediction, int):
        each = "each of " if _several(result) else ""
        return f"{each}{text} moves by at most {exact(result.delta or 0.0)}"
    if result.against is None:
        return f"{text} stays"
    return f"{text} is not overtaken by {rivals_text(result)}"


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


def question_text(problem: ProblemData) -> str:
    """Return the question in words: the prediction, and the changes under which it is to stay."""
    question, names, rules = problem.question, problem.class_names, ""
    text, kept = prediction_text(question.prediction), "as it is"
    if isinstance(question.prediction, int):
        text = f"“{names[question.prediction]}”" if names else f"class {text}"
    if isinstance(question, Classification) and question.against:
        rivals = [f"“{names[one]}”" if names else str(one) for one in question.against]
        kept = f"ahead of {joined(rivals)}"
    if isinstance(question, Regression):
        kept = f"within ±{exact(question.delta)}"
    if problem.inputs is not None and problem.inputs.rules:
        rules = f", and obey {counted(len(problem.inputs.rules), 'rule')}"
    value = "the prediction" if problem.output is None else f"output {problem.output}"
    of, reach = f"{value} of {problem.network.name}, {text},", f"{_reach(problem)}{rules}"
    if problem.features.count == 1:
        return printable(f"Does {of} stay {kept} while the one feature changes, {reach}?")
    which = f"Which of the {counted(problem.features.count, 'feature')} keep"
    return printable(f"{which} {of} {kept} while the others change, {reach}?")


def _reach(problem: ProblemData) -> str:
    """Return the words for how far features may change."""
    if problem.inputs is None or problem.radii is None:
        return _REACHES[problem.ball.norm].format(exact(problem.ball.epsilon))
    least, most = min(problem.radii), max(problem.radii)
    if least == most < inf and problem.inputs.of_domain:
        return _REACHES["linf"].format(exact(least))
    share = common_share(problem.inputs, problem.radii)
    each = "each " * (len(problem.radii) > 1)
    if least == inf:
        return f"{each}over its whole domain"
    if share is not None:
        return f"{each}by at most {percent(share)} % of its range"
    if least == most:
        return f"{each}by at most {exact(least)} in its own unit"
    return f"each by at most a radius of its own, {exact(least)} to {exact(most)}"
