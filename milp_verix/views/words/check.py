"""One check in words, and the facts about it."""

from milp_verix.base.number_text import counted, up
from milp_verix.base.stored_kinds import FeatureSet
from milp_verix.oracle.verdict import Verdict
from milp_verix.results.base import Counterfactual, Result
from milp_verix.views.words.explanation import about_facts, effort_facts
from milp_verix.views.words.labels import change_texts, labels_of
from milp_verix.views.words.sentences import (
    change_told,
    open_claim,
    rules_told,
    scope_sentences,
    set_claim,
)
from milp_verix.views.words.wording import becomes_text


def check_sentence(about: Result, verdict: Verdict, free: FeatureSet) -> str:
    """Return the claim that the features ``free`` may change, or what refutes it."""
    if (point := _point(verdict)) is not None:
        return " ".join([change_told(about, point), *scope_sentences(about)])
    kept = tuple(feature for feature in range(len(about.groups)) if feature not in free)
    claim = set_claim(about, kept, "that are fixed")
    claim = claim if verdict.holds else open_claim(claim, verdict.reason)
    return " ".join([claim, *rules_told(about)])


def check_facts(about: Result, verdict: Verdict, free: FeatureSet) -> list[tuple[str, str]]:
    """Return the facts about a check, as pairs of a name and a text."""
    answer, point = verdict.answer.name, _point(verdict)
    if verdict.bound is not None:
        answer += f", proven: no margin is above {up(verdict.bound)}"
    elif point is not None:
        answer += f": {becomes_text(about, point)}, run by the model itself"
    else:
        answer += f": {verdict.reason}"
    told = [
        ("in words", check_sentence(about, verdict, free)),
        *about_facts(about),
        ("free", f"{counted(len(free), 'feature')}: {labels_of(about).listed(free)}"),
        ("answer", answer),
    ]
    if point is not None:
        told += [("change", text) for text in change_texts(about, point)]
    return told + effort_facts(about)


def _point(verdict: Verdict) -> Counterfactual | None:
    if verdict.witness is None or verdict.prediction is None:
        return None
    return Counterfactual(verdict.witness, verdict.prediction, verdict.rival)
