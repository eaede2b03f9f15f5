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
from milp_verix.views.words import (
    audit,
    contrast,
    explanation,
    importance,
    importance as relevance,
    radius,
    ranges,
    sentences,
    wording,
)


class _Words(NamedTuple):
    title: Callable[[Any], str]
    outcome: Callable[[Any], str]
    sentence: Callable[[Any], str]
    facts: Callable[[Any], list[tuple[str, str]]]


def _explained(result: Explanation) -> str:
    return f"{wording.size_text(result)}, {wording.outcome_text(result)}"


def _contrasted(result: ContrastiveExplanation) -> str:
    whole = counted(len(result.groups), "feature")
    of = "" if result.size is None else f"{result.size} of {whole}, "
    return of + wording.contrast_outcome(result)


_WORDS: dict[type[StoredResult], _Words] = {
    Explanation: _Words(
        wording.headline, _explained, sentences.explanation_sentence, explanation.facts
    ),
    ContrastiveExplanation: _Words(
        wording.contrast_headline, _contrasted, contrast.contrast_sentence, contrast.contrast_facts
    ),
    Enumeration: _Words(
        wording.enumeration_headline,
        lambda _: "",
        contrast.enumeration_sentence,
        contrast.enumeration_facts,
    ),
    Audit: _Words(
        audit.audit_headline, audit.audit_outcome, audit.audit_sentence, audit.audit_facts
    ),
    RobustnessRadii: _Words(
        radius.radii_headline, radius.radii_outcome, radius.radii_sentence, radius.radii_facts
    ),
    EpsilonSweep: _Words(
        radius.sweep_headline, radius.sweep_outcome, radius.sweep_sentence, radius.sweep_facts
    ),
    Ranges: _Words(
        ranges.ranges_headline, ranges.ranges_outcome, ranges.ranges_sentence, ranges.ranges_facts
    ),
    Importance: _Words(
        importance.importance_headline,
        importance.importance_outcome,
        importance.importance_sentence,
        importance.importance_facts,
    ),
    Relevance: _Words(
        relevance.relevance_headline,
        relevance.relevance_outcome,
        relevance.relevance_sentence,
        relevance.relevance_facts,
    ),
}


def _words(result: StoredResult) -> _Words:
    return next(words for kind, words in _WORDS.items() if isinstance(result, kind))


def title(result: StoredResult) -> str:
    """Return the headline of ``result``."""
    return printable(_words(result).title(result))


def outcome(result: StoredResult) -> str:
    """Return the size of ``result`` and what is proven of it; empty for an enumeration."""
    return printable(_words(result).outcome(result))


def sentence(result: StoredResult) -> str:
    """Return the claim of ``result`` in words."""
    return printable(_words(result).sentence(result))


def facts_of(result: StoredResult) -> list[tuple[str, str]]:
    """Return the facts about ``result``, as pairs of a name and a text."""
    return _words(result).facts(result)
