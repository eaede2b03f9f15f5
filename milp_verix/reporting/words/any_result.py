"""A result of any kind in words."""

from collections.abc import Callable
from typing import Any, NamedTuple

from milp_verix.printable import printable
from milp_verix.reporting.words.audit import (
    audit_facts,
    audit_headline,
    audit_outcome,
    audit_sentence,
)
from milp_verix.reporting.words.contrast import (
    contrast_facts,
    contrast_sentence,
    enumeration_facts,
    enumeration_sentence,
)
from milp_verix.reporting.words.explanation import facts
from milp_verix.reporting.words.importance import (
    importance_facts,
    importance_headline,
    importance_outcome,
    importance_sentence,
)
from milp_verix.reporting.words.radius import (
    radii_facts,
    radii_headline,
    radii_outcome,
    radii_sentence,
    sweep_facts,
    sweep_headline,
    sweep_outcome,
    sweep_sentence,
)
from milp_verix.reporting.words.ranges import (
    ranges_facts,
    ranges_headline,
    ranges_outcome,
    ranges_sentence,
)
from milp_verix.reporting.words.relevance import (
    relevance_facts,
    relevance_headline,
    relevance_outcome,
    relevance_sentence,
)
from milp_verix.reporting.words.sentences import explanation_sentence
from milp_verix.reporting.words.wording import (
    contrast_headline,
    contrast_outcome,
    enumeration_headline,
    headline,
    outcome_text,
    size_text,
)
from milp_verix.results.records.audit import AuditRecord
from milp_verix.results.records.contrast import ContrastiveExplanationRecord
from milp_verix.results.records.enumeration import EnumerationRecord
from milp_verix.results.records.explanation import ExplanationRecord
from milp_verix.results.records.importance import ImportanceRecord
from milp_verix.results.records.json_format import StoredResult
from milp_verix.results.records.radius import RobustnessRadiiRecord
from milp_verix.results.records.ranges import RangesRecord
from milp_verix.results.records.relevance import RelevanceRecord
from milp_verix.results.records.sweep import EpsilonSweepRecord


class _Words(NamedTuple):
    title: Callable[[Any], str]
    outcome: Callable[[Any], str]
    sentence: Callable[[Any], str]
    facts: Callable[[Any], list[tuple[str, str]]]


def _explained(result: ExplanationRecord) -> str:
    return f"{size_text(result)}, {outcome_text(result)}"


def _contrasted(result: ContrastiveExplanationRecord) -> str:
    of = "" if result.size is None else f"{result.size} of {len(result.groups)} features, "
    return of + contrast_outcome(result)


_WORDS: dict[type[StoredResult], _Words] = {
    ExplanationRecord: _Words(headline, _explained, explanation_sentence, facts),
    ContrastiveExplanationRecord: _Words(
        contrast_headline, _contrasted, contrast_sentence, contrast_facts
    ),
    EnumerationRecord: _Words(
        enumeration_headline, lambda _: "", enumeration_sentence, enumeration_facts
    ),
    AuditRecord: _Words(audit_headline, audit_outcome, audit_sentence, audit_facts),
    RobustnessRadiiRecord: _Words(radii_headline, radii_outcome, radii_sentence, radii_facts),
    EpsilonSweepRecord: _Words(sweep_headline, sweep_outcome, sweep_sentence, sweep_facts),
    RangesRecord: _Words(ranges_headline, ranges_outcome, ranges_sentence, ranges_facts),
    ImportanceRecord: _Words(
        importance_headline, importance_outcome, importance_sentence, importance_facts
    ),
    RelevanceRecord: _Words(
        relevance_headline, relevance_outcome, relevance_sentence, relevance_facts
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
