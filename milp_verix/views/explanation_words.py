"""Explanations in words, and the facts about them alone."""

from milp_verix.base.number_text import MOST_DIGITS, counted, down, nearest, up
from milp_verix.oracle.verdict import Statistics
from milp_verix.results.explanation import Explanation
from milp_verix.views import wording
from milp_verix.views.facts import Facts, Wording, features_facts, to_try
from milp_verix.views.labels import SHOWN, change_texts, labels_of, message_claim
from milp_verix.views.sentences import open_sentences, rules_sentences, set_claim

_NAMED, _CHANGES = 3, 4
_MASTERS = {
    "tree": "our own branch and bound on linear programs of HiGHS",
    "program": "mixed-integer programs of the solver",
    "hitting sets": "cheapest hitting sets of contrastive sets",
}


def headline(explanation: Explanation) -> str:
    """Return the result in a line: ``"Prediction 7, explained by 191 of 784 features"``."""
    size = f"{explanation.size} of {counted(len(explanation.groups), 'feature')}"
    return f"{wording.predicted_text(explanation)}, explained by {size}"


def outcome_text(explanation: Explanation) -> str:
    """Return how small the explanation is, as far as that is proven.

    ``"globally minimum, proven"``; ``"locally minimal, at most 3 features above the minimum"``
    where only a lower bound is proven; ``"locally minimal"``, ``"2 undecided, between 4 and 9
    needed"`` or ``"2 undecided, at most 9 needed"`` without a bound.
    """
    gap, limits = explanation.gap, _given_text(explanation)
    if not explanation.explanation:
        return f"robust: no input in the ball {wording.change_text(explanation)}"
    if explanation.proven:
        which = " in cost" if explanation.costs is not None else ""
        return f"globally minimum{which}{limits}, proven"
    undecided = [] if explanation.minimal else [f"{len(explanation.unknown)} undecided"]
    parts = undecided or ["locally minimal"]
    if gap is None:
        parts += [f"{_bracket(explanation)} needed"] if undecided else []
    elif not explanation.lower_bound:
        parts.append("no lower bound proven")
    elif explanation.costs is not None:
        parts.append(f"cost at most {up(gap)} above the minimum{limits}")
    else:
        parts.append(f"at most {counted(int(gap), 'feature')} above the minimum{limits}")
    return ", ".join(parts)


def _bracket(explanation: Explanation) -> str:
    """Return how many features the smallest explanation has: ``"between 41 and 212"``."""
    least, most = explanation.needed, explanation.size
    if not least:
        return f"at most {most}"
    return str(most) if least == most else f"between {least} and {most}"


def _given_text(explanation: Explanation) -> str:
    """Return which explanations a minimum is the least of, where not all were asked for."""
    parts = [
        f"{word} {counted(len(features), 'given feature')}"
        for word, features in (("with", explanation.must), ("without", explanation.must_not))
        if features
    ]
    return f" {' and '.join(parts)}" if parts else ""


def explanation_sentence(explanation: Explanation) -> str:
    """Return the claim: ``"The decision “yes” stays, whatever age is, …"``, and what is open."""
    claim = message_claim(explanation) or set_claim(explanation, explanation.explanation)
    parts, labels = (
        [claim, *open_sentences(explanation, explanation.unknown)],
        labels_of(explanation),
    )
    limits = [
        f"{word} {labels.named(features, _NAMED)}"
        for word, features in (("with", explanation.must), ("without", explanation.must_not))
        if features
    ]
    parts += [f"Only explanations {wording.joined(limits)} were sought."] if limits else []
    return " ".join([*parts, *rules_sentences(explanation)])


def explanation_facts(explanation: Explanation) -> Facts:
    """Return the facts about ``explanation`` that others have not."""
    count, statistics = len(explanation.groups), explanation.statistics
    share = f" ({100 * explanation.size / count:.0f} %)" if count else ""
    reasons = explanation.unknown_reasons
    undecided = f"{counted(len(reasons), 'feature')}: {wording.tally(list(reasons.values()))}"
    spent = map(wording.seconds_text, (statistics.seconds, statistics.check_seconds))
    stopped = f"; stopped: {statistics.stopped}" if statistics.stopped else ""
    options = ("traversal", "bounds", "formulation")
    traversal, bounds, formulation = (
        [(name, getattr(explanation, name))] * (getattr(explanation, name) is not None)
        for name in options
    )
    return [
        ("explanation", f"{explanation.size} of {counted(count, 'feature')}{share}"),
        *features_facts(explanation, explanation.explanation),
        ("outcome", outcome_text(explanation)),
        ("irrelevant", counted(len({*explanation.irrelevant} - {*explanation.still}), "feature")),
        ("undecided", undecided if reasons else "none"),
        *_needed(explanation),
        *to_try(reasons.values(), explanation.bounds),
        *_claims(explanation),
        ("counterfactuals", _counterfactuals(explanation)),
        *_changes(explanation),
        ("order", explanation.order),
        *traversal,
        ("solver", f"{explanation.solver} {explanation.versions.get(explanation.solver, '')}"),
        *bounds,
        *formulation,
        *_effort(statistics),
        ("time", f"{', '.join(spent)} of it in checks{stopped}"),
        *(("note", note) for note in explanation.notes),
    ]


def _needed(explanation: Explanation) -> Facts:
    """Return how many features are needed where that is not known exactly."""
    if not explanation.unknown or explanation.gap is not None:
        return []
    are = "feature is" if explanation.size == 1 else "features are"
    return [("needed", f"{_bracket(explanation)} {are} needed")]


def _claims(explanation: Explanation) -> Facts:
    """Return the claims about the size; no local claim where a global one is proven."""
    if not explanation.explanation:
        return []
    minimal = "no: a feature that is undecided might be left out"
    if explanation.minimal:
        minimal = "yes (locally: no single feature can be left out)"
    gap, costs = explanation.gap, explanation.costs
    # without a feature that costs more than the gap the set would be below the lower bound
    all_needed = (
        explanation.proven
        and gap is not None
        and all(
            feature not in explanation.must and (1.0 if costs is None else costs[feature]) > gap
            for feature in explanation.unknown
        )
    )
    claims = [] if all_needed else [("minimal", minimal)]
    if explanation.lower_bound is not None:
        claims.append(("minimum", _minimum(explanation)))
    if explanation.at_most is not None:
        claims.append(("at most", _reachable(explanation)))
    return claims


def _reachable(explanation: Explanation) -> str:
    """Return whether an explanation costs as little as was asked: ``"12 features: yes, …"``."""
    most, limits = nearest(explanation.at_most or 0, MOST_DIGITS), _given_text(explanation)
    answers = {
        True: "yes, this explanation",
        False: f"no, proven: each explanation{limits} has more",
        None: "not decided: give it more time",
    }
    plural = "feature" if explanation.at_most == 1 else "features"
    asked = f"{most} {plural}" if explanation.costs is None else f"cost {most}"
    return f"{asked}: {answers[explanation.reachable]}"


def _minimum(explanation: Explanation) -> str:
    least = explanation.lower_bound or 0
    if not least and not explanation.proven:
        return "not proven: no lower bound above 0 was found"
    limits = _given_text(explanation)
    if explanation.costs is not None:
        cost = f"cost {nearest(explanation.cost, 6)}"
        if explanation.proven:
            return f"yes, proven: {cost}, and no explanation{limits} is cheaper"
        return f"not proven: {cost}, and none{limits} is below {down(least, 6)}"
    if explanation.proven:
        return f"yes, proven: no explanation{limits} has fewer features"
    return f"not proven: none{limits} has fewer than {counted(int(least), 'feature')}"


def _counterfactuals(explanation: Explanation) -> str:
    found = [point.prediction for point in explanation.counterfactuals.values()]
    original = explanation.prediction
    if not found:
        return "none"
    if isinstance(original, int):
        named = [wording.named_prediction(explanation, one) for one in found]
        return f"{len(found)}, to {wording.tally(named)}"
    moves = [
        max(abs(after - before) for before, after in zip(original, changed, strict=True))
        for changed in found
        if not isinstance(changed, int)
    ]
    return f"{len(found)}, moving an output by {nearest(min(moves))} to {nearest(max(moves))}"


def _changes(explanation: Explanation) -> Facts:
    """Return the changes that each counterfactual of a described input makes, in words."""
    parts, labels = [], labels_of(explanation)
    for feature, found in [*explanation.counterfactuals.items()][:SHOWN]:
        if changes := change_texts(explanation, found, labels[feature]):
            more = f", … and {len(changes) - _CHANGES} more" if len(changes) > _CHANGES else ""
            outcome = wording.changed_text(explanation, found)
            if isinstance(found.prediction, int):
                outcome = wording.named_prediction(explanation, found.prediction)
            text = f"{', '.join(changes[:_CHANGES])}{more}: {outcome}"
            parts.append((f"if {labels[feature]} is free", text))
    return parts


def _effort(statistics: Statistics) -> Facts:
    checks = _counts(
        (statistics.checks, "check"),
        (statistics.solves, "solve"),
        (statistics.nodes, "node"),
        (statistics.iterations, "simplex iteration"),
    )
    search = statistics.search
    if search is None:
        decided = ", ".join(
            f"{stage.features} by {stage.stage} ({wording.seconds_text(stage.seconds)})"
            for stage in statistics.stages
            if stage.features or stage.seconds >= 0.005  # else it says 0 twice
        )
        rows = [("effort", checks), *([("decided", decided)] if decided else [])]
    else:
        known = "contrastive set" if search.master == "hitting sets" else "scenario"
        program = "linear program" if search.master == "tree" else "program"
        sought = _counts(
            (search.rounds, "round"),
            (search.scenarios, known),
            (search.nodes, "node"),
            (search.programs, program),
            (search.iterations, "simplex iteration"),
        )
        stages = ", ".join(
            f"{stage} {wording.seconds_text(seconds)}" for stage, seconds in search.stages
        )
        rows = [("master", _MASTERS[search.master]), ("search", sought)]
        rows += [("checks", checks), ("stages", stages)]
    solvers = [
        f"{counted(one.checks, 'check')} by {one.solver} ({wording.seconds_text(one.seconds)})"
        for one in statistics.solvers
    ]
    return [*rows, *([("solvers", ", ".join(solvers))] if len(solvers) > 1 else [])]


def _counts(*counts: tuple[int, str]) -> str:
    return ", ".join(counted(count, noun) for count, noun in counts)


def trace_lines(statistics: Statistics) -> list[str]:
    """Return the course of a search for a minimum, a line for each change; none for others."""
    if statistics.search is None:
        return []
    lines = (
        f"{seconds:9.2f} {nearest(best, 6):>8} {down(bound, 6):>8}"
        for seconds, best, bound in statistics.search.trace
    )
    return [f"{'seconds':>9} {'best':>8} {'bound':>8}", *lines]


WORDS = {
    "explanation": Wording(headline, outcome_text, explanation_sentence, explanation_facts),
}
