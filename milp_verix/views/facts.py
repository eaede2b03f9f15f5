"""Facts that all results have, as pairs of a name and a text."""

from collections.abc import Callable, Iterable
from math import inf
from typing import Any, NamedTuple

from milp_verix.base.number_text import counted, exact
from milp_verix.base.stored_kinds import DomainEnd
from milp_verix.oracle.verdict import BOUNDS_ALONE, INTERRUPTED, MEMORY_LIMIT, TIME_LIMIT
from milp_verix.results.base import Counterfactual, Result
from milp_verix.views import wording
from milp_verix.views.labels import change_texts, labels_of
from milp_verix.views.wording import named_prediction

Facts = list[tuple[str, str]]


class Wording(NamedTuple):
    """What is said of one kind of result: its headline, what is proven, the claim, own facts."""

    title: Callable[[Any], str]
    outcome: Callable[[Any], str]
    sentence: Callable[[Any], str]
    facts: Callable[[Any], Facts]


DEEPER = {"interval": "crown", "crown": "branched", "alpha": "branched", "branched": "lp"}
"""The bounds that are the next tighter ones, for a reader with time."""


def about_facts(result: Result) -> Facts:
    """Return the network, the prediction, the ball, and what stays as it is all over it."""
    return [*_subject(result), ("ball", ball_text(result)), *still_facts(result)]


def question_facts(result: Result) -> Facts:
    """Return the network, the prediction and what narrows the question, without a ball."""
    norm = [] if result.inputs else [f"norm {wording.norm_text(result.norm)}"]
    text = ", ".join([*norm, *domain_parts(result), *wording.restrictions(result)])
    return [*_subject(result), *([("question", text)] if text else [])]


def _subject(result: Result) -> Facts:
    if isinstance(result.prediction, int):
        said, number = named_prediction(result, result.prediction), f"class {result.prediction}"
        said = number if said == number else f"{said} ({number})"
    else:
        said = wording.prediction_text(result.prediction)
        if result.output is not None:
            said += f" of output {result.output}"
        elif len(result.prediction) > 1:
            said += ", the outputs"
    model = f"{result.model.file} (SHA-256 {result.model.sha256[:12]}…)"
    return [("model", model), ("prediction", said)]


def still_facts(result: Result) -> Facts:
    """Return the features that cannot change, if there are any."""
    still = result.still
    if not still:
        return []
    those = f"{counted(len(still), 'feature')} without room: {labels_of(result).listed(still)}"
    return [("stays as it is" if len(still) == 1 else "stay as they are", those)]


def ball_text(result: Result) -> str:
    """Return ``"ε = 0.1 (L∞), domain 0 to 1"``, with what narrows the question."""
    norm = f" ({wording.norm_text(result.norm)})" if wording.one_radius(result) else ""
    return ", ".join(
        [wording.radius_text(result) + norm, *wording.restrictions(result), *domain_parts(result)]
    )


def domain_parts(result: Result) -> list[str]:
    """Return the domain of an array, none for inputs that are described."""
    if wording.described(result):
        return []
    if result.domain == (-inf, inf):
        return ["unlimited domain"]
    low, high = (_end(end) for end in result.domain)
    return [f"domain {low} to {high}"]


def _end(end: DomainEnd) -> str:
    if isinstance(end, tuple):
        return f"({exact(min(end))} … {exact(max(end))} by coordinate)"
    return exact(end)


def features_facts(result: Result, features: tuple[int, ...]) -> Facts:
    """Return which ``features`` these are, the first dozen of them, if there are any."""
    if not features:
        return []
    labels = labels_of(result)
    axes = f"{labels.axes} from 0: " if labels.axes else ""
    return [(labels.unit, f"{axes}{labels.listed(features)}")]


def axes_facts(result: Result) -> Facts:
    """Return how rows below are named, where features are pixels."""
    labels = labels_of(result)
    return [(labels.unit, f"listed as {labels.axes} from 0")] if labels.axes else []


def change_facts(result: Result, found: Counterfactual) -> Facts:
    """Return the changes from a described input to a counterfactual."""
    return [("change", text) for text in change_texts(result, found)]


def to_try(reasons: Iterable[str | None], bounds: str | None = None) -> Facts:
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
    return [("to try", wording.joined([way for way, helps in ways.items() if helps], "or"))]


def effort_facts(found: Result) -> Facts:
    """Return the solver, checks, time and notes of ``found``."""
    statistics = found.statistics
    checks, solves = counted(statistics.checks, "check"), counted(statistics.solves, "solve")
    stopped = f"; stopped: {statistics.stopped}" if statistics.stopped else ""
    return [
        ("solver", f"{found.solver} {found.versions.get(found.solver, '')}".strip()),
        ("effort", f"{checks}, {solves}"),
        ("time", wording.seconds_text(statistics.seconds) + stopped),
        *(("note", note) for note in found.notes),
    ]
