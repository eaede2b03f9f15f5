"""A result of any kind in words."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from milp_verix.base.errors import printable
from milp_verix.base.number_text import counted
from milp_verix.results.explanation import EpsilonSweep, Explanation
from milp_verix.views.facts import Facts, Wording, about_facts, effort_facts, question_facts

if TYPE_CHECKING:
    from milp_verix.results.json_format import StoredResult


_HOMES = {
    "audit": "audit_words",
    **dict.fromkeys(("contrastive", "enumeration"), "contrast_words"),
    "explanation": "explanation_words",
    **dict.fromkeys(("importance", "relevance"), "importance_words"),
    **dict.fromkeys(("radius", "sweep"), "radius_words"),
    "ranges": "ranges_words",
}
"""The module whose ``WORDS`` tell each kind of result, loaded with the first one."""


def words_of(result: "StoredResult") -> Wording:
    """Return what is said of a result of this kind."""
    words: Wording = import_module(f"{__package__}.{_HOMES[result.kind]}").WORDS[result.kind]
    return words


def title(result: "StoredResult") -> str:
    """Return the headline of ``result``."""
    return printable(words_of(result).title(result))


def outcome(result: "StoredResult") -> str:
    """Return the size of ``result`` and what is proven of it; empty for an enumeration."""
    text, found = words_of(result).outcome(result), cast("Any", result)
    if result.kind in ("explanation", "contrastive") and found.size is not None:
        text = f"{found.size} of {counted(len(found.groups), 'feature')}, {text}"
    return printable(text)


def sentence(result: "StoredResult") -> str:
    """Return the claim of ``result`` in words."""
    return printable(words_of(result).sentence(result))


def facts_of(result: "StoredResult") -> Facts:
    """Return the facts about ``result``: the sentence among them if the input is described."""
    words = words_of(result)
    about = result.levels[0] if isinstance(result, EpsilonSweep) else result
    in_words = about.inputs is not None or result.kind == "importance"
    no_ball = result.kind in ("sweep", "radius")
    parts = [
        *([("in words", words.sentence(result))] if in_words else []),
        *(question_facts(about) if no_ball else about_facts(about)),
        *words.facts(result),
    ]
    if isinstance(result, Explanation):
        return [(name, text.strip()) for name, text in parts]
    return parts if isinstance(result, EpsilonSweep) else [*parts, *effort_facts(result)]
