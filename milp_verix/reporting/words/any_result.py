"""A result of any kind in words."""

from collections.abc import Callable
from typing import Any, NamedTuple

from milp_verix.reporting.words.audit import audit_facts, audit_headline, audit_outcome
from milp_verix.reporting.words.contrast import contrast_facts, enumeration_facts
from milp_verix.reporting.words.explanation import facts
from milp_verix.reporting.words.importance import (
    importance_facts,
    importance_headline,
    importance_outcome,
)
from milp_verix.reporting.words.radius import radii_facts, radii_headline, radii_outcome
from milp_verix.reporting.words.ranges import ranges_facts, ranges_headline, ranges_outcome
from milp_verix.reporting.words.relevance import (
    relevance_facts,
    relevance_headline,
    relevance_outcome,
)
from milp_verix.reporting.words.wording import (
    contrast_headline,
    contrast_outcome,
    enumeration_headline,
    headline,
    outcome_text,
    size_text,
)
from milp_verix.results.records.audit import AuditRecord
from milp_verix.results.records.base import Result
from milp_verix.results.records.contrast import ContrastiveExplanationRecord
from milp_verix.results.records.enumeration import EnumerationRecord
from milp_verix.results.records.explanation import ExplanationRecord
from milp_verix.results.records.importance import ImportanceRecord
from milp_verix.results.records.radius import RobustnessRadiiRecord
from milp_verix.results.records.ranges import RangesRecord
from milp_verix.results.records.relevance import RelevanceRecord


class _Words(NamedTuple):
    title: Callable[[Any], str]
    outcome: Callable[[Any], str]
    facts: Callable[[Any], list[tuple[str, str]]]


def _explained(result: ExplanationRecord) -> str:
    return f"{size_text(result)}, {outcome_text(result)}"


def _contrasted(result: ContrastiveExplanationRecord) -> str:
    of = "" if result.size is None else f"{result.size} of {len(result.groups)} features, "
    return of + contrast_outcome(result)


_WORDS: dict[type[Result], _Words] = {
    ExplanationRecord: _Words(headline, _explained, facts),
    ContrastiveExplanationRecord: _Words(contrast_headline, _contrasted, contrast_facts),
    EnumerationRecord: _Words(enumeration_headline, lambda _: "", enumeration_facts),
    AuditRecord: _Words(audit_headline, audit_outcome, audit_facts),
    RobustnessRadiiRecord: _Words(radii_headline, radii_outcome, radii_facts),
    RangesRecord: _Words(ranges_headline, ranges_outcome, ranges_facts),
    ImportanceRecord: _Words(importance_headline, importance_outcome, importance_facts),
    RelevanceRecord: _Words(relevance_headline, relevance_outcome, relevance_facts),
}


def _words(result: Result) -> _Words:
    return next(words for kind, words in _WORDS.items() if isinstance(result, kind))


def title(result: Result) -> str:
    """Return the headline of ``result``."""
    return _words(result).title(result)


def outcome(result: Result) -> str:
    """Return the size of ``result`` and what is proven of it; empty for an enumeration."""
    return _words(result).outcome(result)


def facts_of(result: Result) -> list[tuple[str, str]]:
    """Return the facts about ``result``, as pairs of a name and a text."""
    return _words(result).facts(result)


def sentence(result: Result) -> str | None:
    """Return a ``result`` on a described input in words, None for another one."""
    return next((text for name, text in facts_of(result) if name == "in words"), None)
