"""A result of any kind in words."""

from collections.abc import Callable
from typing import Any, NamedTuple

from milp_verix.base.errors import printable
from milp_verix.base.number_text import counted
from milp_verix.results.audit import Audit
from milp_verix.results.contrast import ContrastiveExplanation, Enumeration
from milp_verix.results.explanation import EpsilonSweep, Explanation
from milp_verix.results.importance import Importance, Relevance
from milp_verix.results.json_format import StoredResult
from milp_verix.results.ranges import Ranges, RobustnessRadii
from milp_verix.views import (
    audit_words as audit,
    contrast_words as contrast,
    explanation_words as explanation,
    importance_words as importance,
    radius_words as radius,
    ranges_words as ranges,
)
from milp_verix.views.facts import Facts, about_facts, effort_facts, question_facts


class Words(NamedTuple):
    """What is said of one kind of result: its headline, what is proven, the claim, own facts."""

    title: Callable[[Any], str]
    outcome: Callable[[Any], str]
    sentence: Callable[[Any], str]
    facts: Callable[[Any], Facts]


_WORDS: dict[type[StoredResult], Words] = {
    Explanation: Words(
        explanation.headline,
        explanation.outcome_text,
        explanation.explanation_sentence,
        explanation.explanation_facts,
    ),
    ContrastiveExplanation: Words(
        contrast.contrast_headline,
        contrast.contrast_outcome,
        contrast.contrast_sentence,
        contrast.contrast_facts,
    ),
    Enumeration: Words(
        contrast.enumeration_headline,
        lambda _: "",
        contrast.enumeration_sentence,
        contrast.enumeration_facts,
    ),
    Audit: Words(
        audit.audit_headline, audit.audit_outcome, audit.audit_sentence, audit.audit_facts
    ),
    RobustnessRadii: Words(
        radius.radii_headline, radius.radii_outcome, radius.radii_sentence, radius.radii_facts
    ),
    EpsilonSweep: Words(
        radius.sweep_headline, radius.sweep_outcome, radius.sweep_sentence, radius.sweep_facts
    ),
    Ranges: Words(
        ranges.ranges_headline, ranges.ranges_outcome, ranges.ranges_sentence, ranges.ranges_facts
    ),
    Importance: Words(
        importance.importance_headline,
        importance.importance_outcome,
        importance.importance_sentence,
        importance.importance_facts,
    ),
    Relevance: Words(
        importance.relevance_headline,
        importance.relevance_outcome,
        importance.relevance_sentence,
        importance.relevance_facts,
    ),
}


def words_of(result: StoredResult) -> Words:
    """Return what is said of a result of this kind."""
    return next(words for kind, words in _WORDS.items() if isinstance(result, kind))


def title(result: StoredResult) -> str:
    """Return the headline of ``result``."""
    return printable(words_of(result).title(result))


def outcome(result: StoredResult) -> str:
    """Return the size of ``result`` and what is proven of it; empty for an enumeration."""
    told = words_of(result).outcome(result)
    if isinstance(result, Explanation | ContrastiveExplanation) and result.size is not None:
        told = f"{result.size} of {counted(len(result.groups), 'feature')}, {told}"
    return printable(told)


def sentence(result: StoredResult) -> str:
    """Return the claim of ``result`` in words."""
    return printable(words_of(result).sentence(result))


def facts_of(result: StoredResult) -> Facts:
    """Return the facts about ``result``: the sentence among them if the input is described."""
    words = words_of(result)
    about = result.levels[0] if isinstance(result, EpsilonSweep) else result
    in_words = about.inputs is not None or isinstance(result, Importance)
    no_ball = isinstance(result, EpsilonSweep | RobustnessRadii)
    told = [
        *([("in words", words.sentence(result))] if in_words else []),
        *(question_facts(about) if no_ball else about_facts(about)),
        *words.facts(result),
    ]
    if isinstance(result, Explanation):
        return [(name, text.strip()) for name, text in told]
    return told if isinstance(result, EpsilonSweep) else [*told, *effort_facts(result)]
