"""Facts about explanations, as pairs of a name and a text."""

from collections.abc import Callable, Iterable
from math import inf
from typing import TypeVar

from milp_verix.base.number_text import counted, down, exact, nearest
from milp_verix.base.stored_kinds import DomainEnd
from milp_verix.oracle.statistics import (
    BOUNDS_ALONE,
    INTERRUPTED,
    MEMORY_LIMIT,
    TIME_LIMIT,
    Statistics,
)
from milp_verix.results.base import Result
from milp_verix.results.explanation import Explanation
from milp_verix.views.words.labels import SHOWN, change_texts, labels_of
from milp_verix.views.words.sentences import explanation_sentence
from milp_verix.views.words.wording import (
    asked_text,
    bracket_text,
    changed_text,
    described,
    joined,
    named_prediction,
    norm_text,
    one_radius,
    outcome_text,
    prediction_text,
    radius_text,
    restrictions,
    seconds_text,
    tally,
)

AnyResult = TypeVar("AnyResult", bound=Result)

_CHANGES = 4
DEEPER = {"interval": "crown", "crown": "branched", "alpha": "branched", "branched": "lp"}
"""The bounds that are the next tighter ones, for a reader with time."""


def facts(explanation: Explanation) -> list[tuple[str, str]]:
    """Return the facts about ``explanation``, as pairs of a name and a text."""
    count = len(explanation.groups)
    share = f" ({100 * explanation.size / count:.0f} %)" if count else ""
    found = [
        *words_facts(explanation, explanation_sentence),
        *about_facts(explanation),
        ("explanation", f"{explanation.size} of {counted(count, 'feature')}{share}"),
        *features_facts(explanation, explanation.explanation),
        ("outcome", outcome_text(explanation)),
        ("irrelevant", counted(len({*explanation.irrelevant} - {*explanation.still}), "feature")),
        ("undecided", _undecided(explanation)),
        *_needed(explanation),
        *to_try(explanation, explanation.unknown_reasons.values(), explanation.bounds),
        *_claims(explanation),
        ("counterfactuals", _counterfactuals(explanation)),
        *_changes(explanation),
        ("order", explanation.order),
        *([] if explanation.traversal is None else [("traversal", explanation.traversal)]),
        ("solver", f"{explanation.solver} {explanation.versions.get(explanation.solver, '')}"),
        *([] if explanation.bounds is None else [("bounds", explanation.bounds)]),
        *([] if explanation.formulation is None else [("formulation", explanation.formulation)]),
        *_effort(explanation.statistics),
        ("time", _time(explanation)),
        *(("note", note) for note in explanation.notes),
    ]
    return [(name, text.strip()) for name, text in found]


def words_facts(result: AnyResult, sentence: Callable[[AnyResult], str]) -> list[tuple[str, str]]:
    """Return the ``sentence`` that tells a result about a described input, if it is one."""
    return [("in words", sentence(result))] if result.inputs is not None else []


def about_facts(result: Result) -> list[tuple[str, str]]:
    """Return the network, the prediction, the ball, and what stays as it is all over it."""
    return [
        ("model", f"{result.model.file} (SHA-256 {result.model.sha256[:12]}…)"),
        ("prediction", _prediction(result)),
        ("ball", ball_text(result)),
        *still_facts(result),
    ]


def still_facts(result: Result) -> list[tuple[str, str]]:
    """Return the features that have no room to change, if there are any."""
    still = result.still
    if not still:
        return []
    those = f"{counted(len(still), 'feature')} without room: {labels_of(result).listed(still)}"
    return [("stays as it is" if len(still) == 1 else "stay as they are", those)]


def question_facts(result: Result) -> list[tuple[str, str]]:
    """Return the network, the prediction and what narrows the question, without a ball."""
    norm = [] if result.inputs else [f"norm {norm_text(result.norm)}"]
    asked = ", ".join([*norm, *domain_parts(result), *restrictions(result)])
    return [*about_facts(result)[:2], *([("question", asked)] if asked else [])]


def _prediction(result: Result) -> str:
    if isinstance(result.prediction, int):
        number_, named = f"class {result.prediction}", named_prediction(result, result.prediction)
        return number_ if named == number_ else f"{named} ({number_})"
    text = prediction_text(result.prediction)
    if result.output is not None:
        return f"{text} of output {result.output}"
    return text if len(result.prediction) == 1 else f"{text}, the outputs"


def ball_text(result: Result) -> str:
    """Return ``"ε = 0.1 (L∞), domain 0 to 1"``, with what narrows the question."""
    norm = f" ({norm_text(result.norm)})" if one_radius(result) else ""
    return ", ".join([radius_text(result) + norm, *restrictions(result), *domain_parts(result)])


def domain_parts(result: Result) -> list[str]:
    """Return the domain of an array, none for inputs that are described."""
    if described(result):
        return []
    if result.domain == (-inf, inf):
        return ["unlimited domain"]
    low, high = (_end(end) for end in result.domain)
    return [f"domain {low} to {high}"]


def _end(end: DomainEnd) -> str:
    if isinstance(end, tuple):
        return f"({exact(min(end))} … {exact(max(end))} by coordinate)"
    return exact(end)


def to_try(
    result: Result, reasons: Iterable[str | None], bounds: str | None = None
) -> list[tuple[str, str]]:
    """Return what may decide more, where ``reasons`` say why something is open; else nothing.

    ``bounds`` are those that the search used, None where it takes none.
    """
    known = {*reasons} - {None}
    if not known:
        return []
    ways = {
        "more time": known & {TIME_LIMIT, INTERRUPTED},
        "more memory": MEMORY_LIMIT in known,
        'exactness="exact"': BOUNDS_ALONE in known,
        "a smaller ε": True,
        f'bounds="{DEEPER.get(bounds or "")}"': bounds in DEEPER,
        "features in groups": True,
    }
    return [("to try", joined([way for way, helps in ways.items() if helps], "or"))]


def _undecided(explanation: Explanation) -> str:
    reasons = explanation.unknown_reasons
    told = f"{counted(len(reasons), 'feature')}: {tally(list(reasons.values()))}"
    return told if reasons else "none"


def _needed(explanation: Explanation) -> list[tuple[str, str]]:
    """Return how many features are needed where that is not known exactly."""
    if not explanation.unknown or explanation.gap is not None:
        return []
    unit = counted(explanation.size, "feature").split()[-1]
    verb = "is" if explanation.size == 1 else "are"
    return [("needed", f"{bracket_text(explanation)} {unit} {verb} needed")]


def features_facts(result: Result, features: tuple[int, ...]) -> list[tuple[str, str]]:
    """Return which ``features`` these are, the first dozen of them, if there are any."""
    if not features:
        return []
    labels = labels_of(result)
    axes = f"{labels.axes} from 0: " if labels.axes else ""
    return [(labels.unit, f"{axes}{labels.listed(features)}")]


def _claims(explanation: Explanation) -> list[tuple[str, str]]:
    """Return the claims about the size; no local claim where a global one is proven."""
    if not explanation.explanation:
        return []
    minimal = "no: a feature that is undecided might be left out"
    if explanation.minimal:
        minimal = "yes (locally: no single feature can be left out)"
    claims = [] if _needs_all(explanation) else [("minimal", minimal)]
    if explanation.lower_bound is not None:
        claims.append(("minimum", _minimum(explanation)))
    return claims


def _needs_all(explanation: Explanation) -> bool:
    """Return True for a proven minimum none of whose features might be left out.

    Without a feature that costs more than the gap the set would be below the lower bound.
    """
    gap, costs = explanation.gap, explanation.costs
    return (
        explanation.proven
        and gap is not None
        and all(
            feature not in explanation.must and (1.0 if costs is None else costs[feature]) > gap
            for feature in explanation.unknown
        )
    )


def _minimum(explanation: Explanation) -> str:
    least = explanation.lower_bound or 0
    if not least and not explanation.proven:
        return "not proven: no lower bound above 0 was found"
    asked = asked_text(explanation)
    if explanation.costs is not None:
        cost = f"cost {nearest(explanation.cost, 6)}"
        if explanation.proven:
            return f"yes, proven: {cost}, and no explanation{asked} is cheaper"
        return f"not proven: {cost}, and none{asked} is below {down(least, 6)}"
    if explanation.proven:
        return f"yes, proven: no explanation{asked} has fewer features"
    return f"not proven: none{asked} has fewer than {counted(int(least), 'feature')}"


def _counterfactuals(explanation: Explanation) -> str:
    found = [point.prediction for point in explanation.counterfactuals.values()]
    if not found:
        return "none"
    original = explanation.prediction
    if isinstance(original, int):
        return f"{len(found)}, to {tally([named_prediction(explanation, one) for one in found])}"
    moves = [
        max(abs(after - before) for before, after in zip(original, changed, strict=True))
        for changed in found
        if not isinstance(changed, int)
    ]
    return f"{len(found)}, moving an output by {nearest(min(moves))} to {nearest(max(moves))}"


def _changes(explanation: Explanation) -> list[tuple[str, str]]:
    """Return the changes that each counterfactual of a described input makes, in words."""
    told = []
    for feature, found in [*explanation.counterfactuals.items()][:SHOWN]:
        name = labels_of(explanation)[feature]
        if changes := change_texts(explanation, found, name):
            more = f", … and {len(changes) - _CHANGES} more" if len(changes) > _CHANGES else ""
            outcome = changed_text(explanation, found)
            if isinstance(found.prediction, int):
                outcome = named_prediction(explanation, found.prediction)
            text = f"{', '.join(changes[:_CHANGES])}{more}: {outcome}"
            told.append((f"if {name} is free", text))
    return told


def _effort(statistics: Statistics) -> list[tuple[str, str]]:
    checks = (
        f"{counted(statistics.checks, 'check')}, {counted(statistics.solves, 'solve')}, "
        f"{counted(statistics.nodes, 'node')}, "
        f"{counted(statistics.iterations, 'simplex iteration')}"
    )
    search = statistics.search
    if search is None:
        decided = ", ".join(
            f"{stage.features} by {stage.stage} ({seconds_text(stage.seconds)})"
            for stage in statistics.stages
            if stage.features or stage.seconds >= 0.005  # else it says 0 twice
        )
        told = [("effort", checks), *([("decided", decided)] if decided else [])]
        return [*told, *_solvers(statistics)]
    master = {
        "tree": "our own branch and bound on linear programs of HiGHS",
        "program": "mixed-integer programs of the solver",
        "hitting sets": "cheapest hitting sets of contrastive sets",
    }[search.master]
    known = "contrastive set" if search.master == "hitting sets" else "scenario"
    program = "linear program" if search.master == "tree" else "program"
    sought = (
        f"{counted(search.rounds, 'round')}, {counted(search.scenarios, known)}, "
        f"{counted(search.nodes, 'node')}, {counted(search.programs, program)}, "
        f"{counted(search.iterations, 'simplex iteration')}"
    )
    stages = ", ".join(f"{stage} {seconds_text(seconds)}" for stage, seconds in search.stages)
    told = [("master", master), ("search", sought), ("checks", checks), ("stages", stages)]
    return [*told, *_solvers(statistics)]


def trace_lines(statistics: Statistics) -> list[str]:
    """Return the course of a search for a minimum, a line for each change; none for others."""
    if statistics.search is None:
        return []
    lines = (
        f"{seconds:9.2f} {nearest(best, 6):>8} {down(bound, 6):>8}"
        for seconds, best, bound in statistics.search.trace
    )
    return [f"{'seconds':>9} {'best':>8} {'bound':>8}", *lines]


def _solvers(statistics: Statistics) -> list[tuple[str, str]]:
    """Return the share of each solver in the checks, if there were several."""
    told = ", ".join(
        f"{counted(solver.checks, 'check')} by {solver.solver} ({seconds_text(solver.seconds)})"
        for solver in statistics.solvers
    )
    return [("solvers", told)] if len(statistics.solvers) > 1 else []


def _time(explanation: Explanation) -> str:
    statistics = explanation.statistics
    checks = seconds_text(statistics.check_seconds)
    spent = f"{seconds_text(statistics.seconds)}, {checks} of it in checks"
    return f"{spent}; stopped: {statistics.stopped}" if statistics.stopped else spent


def effort_facts(found: Result) -> list[tuple[str, str]]:
    """Return the solver, checks, time and notes of ``found``."""
    statistics = found.statistics
    checks, solves = counted(statistics.checks, "check"), counted(statistics.solves, "solve")
    stopped = f"; stopped: {statistics.stopped}" if statistics.stopped else ""
    return [
        ("solver", f"{found.solver} {found.versions.get(found.solver, '')}".strip()),
        ("effort", f"{checks}, {solves}"),
        ("time", seconds_text(statistics.seconds) + stopped),
        *(("note", note) for note in found.notes),
    ]
