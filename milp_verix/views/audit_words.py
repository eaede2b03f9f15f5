"""Audits and single checks in words, and the facts about them."""

from milp_verix.base.number_text import counted, up
from milp_verix.base.stored_kinds import FeatureSet
from milp_verix.oracle.verdict import Verdict
from milp_verix.results.audit import Audit, Minimum
from milp_verix.results.base import Counterfactual, Result
from milp_verix.views import facts, sentences
from milp_verix.views.labels import labels_of
from milp_verix.views.wording import becomes_text, predicted_text


def audit_headline(audit: Audit) -> str:
    """Return the result in a line: ``"Prediction 7 is kept by 60 of 784 features, proven"``."""
    prediction = predicted_text(audit)
    features = f"{audit.size} of {counted(len(audit.groups), 'feature')}"
    if audit.sound is None:
        return f"{prediction}: not known if {features} keep it in the ball"
    kept = f"is{' ' if audit.sound else ' not '}kept by {features} in the ball"
    return f"{prediction} {kept}{', proven' if audit.sound else ''}"


def audit_outcome(audit: Audit) -> str:
    """Return how far the set is from a minimal one, or from a sound one, in words."""
    if not audit.sound:
        return f"sound with {_more(audit)}" if audit.completed else "no completion is known"
    spare, held = _unmovable(audit)
    undecided = f", {len(audit.unknown)} undecided" if audit.unknown else ""
    if spare:
        return f"too large by {counted(len(spare), 'feature')}{undecided}"
    if audit.unknown:
        return f"minimality is not known{undecided}"
    return f"minimal: no feature{' with room to change' if held else ''} can be left out"


def _unmovable(audit: Audit) -> tuple[list[int], list[int]]:
    """Return the features that can be left out, and those that stay as they are anyway."""
    still = {*audit.still}
    spare = [feature for feature in audit.removable if feature not in still]
    return spare, [feature for feature in audit.removable if feature in still]


def _more(audit: Audit) -> str:
    undecided = f" ({len(audit.unknown)} of them undecided)" if audit.unknown else ""
    return f"{len(audit.added)} more{undecided}"


def audit_sentence(audit: Audit) -> str:
    """Return whether the set keeps the prediction in words: the claim, or what refutes it."""
    kept = audit.explanation
    claim = sentences.set_claim(audit, kept, "of the set")
    if audit.sound:
        return " ".join([claim, *_spare(audit), *sentences.rules_sentences(audit)])
    if audit.counterexample is None:
        return " ".join(
            [sentences.open_claim(claim, audit.unknown_reason), *sentences.rules_sentences(audit)]
        )
    parts = ["It is not enough to fix no feature."]
    if kept:
        parts = [f"It is not enough that {sentences.kept_values(audit, kept, 'of the set')}."]
    parts.append(sentences.change_sentence(audit, audit.counterexample))
    if audit.completed:
        missing = sentences.kept_values(audit, audit.added, "that are missing")
        parts.append(f"It is enough if {missing}{' as well' if kept else ''}.")
        parts += sentences.open_sentences(audit, audit.unknown, " for that")
    return " ".join([*parts, *sentences.scope_sentences(audit)])


def _spare(audit: Audit) -> list[str]:
    """Return sentences on the features that a sound set does not need."""
    kept, (spare, held) = audit.sound_set, _unmovable(audit)
    parts = [f"{sentences.held_text(audit, held)}."] if held else []
    if spare:
        together = ", all at once" if len(spare) > 1 else ""
        free = spare  # all features that are free share the radius of L1 and L2
        if audit.norm != "linf":
            free = [f for f in range(len(audit.groups)) if f in spare or f not in kept]
        limits = "".join(f", {part}" for part in sentences.limit_parts(audit, free))
        parts.append(f"It does so without {labels_of(audit).named(spare)}, too{together}{limits}.")
    elif kept and not audit.unknown and held:
        others = "None of the others can" if len(kept) > 1 else "The other one can’t"
        parts.append(f"{others} be left out.")
    elif kept and not audit.unknown:
        parts.append("None of them can be left out." if len(kept) > 1 else "It can’t be left out.")
    return [*parts, *sentences.open_sentences(audit, audit.unknown)]


def audit_facts(audit: Audit) -> facts.Facts:
    """Return the facts about ``audit`` that others have not."""
    labels = labels_of(audit)
    rows = [
        ("audited", f"{audit.size} of {counted(len(audit.groups), 'feature')}"),
        *facts.features_facts(audit, audit.explanation),
    ]
    if audit.sound:
        proof = "" if audit.bound is None else f": no margin is above {up(audit.bound)}"
        rows += [("sound", f"yes, proven{proof}"), ("minimality", audit_outcome(audit))]
        spare, _ = _unmovable(audit)
        rows += [("left out", labels.listed(spare))] if spare else []
    else:
        sound = f"not known: {audit.unknown_reason}"
        if audit.counterexample is not None:
            changed = becomes_text(audit, audit.counterexample)
            sound = f"no: a counterexample ({changed}), run by the model itself"
        completion = f"none found: {', '.join(sorted(set(audit.unknown_reasons.values())))}"
        if audit.completed:
            completion = f"sound with {_more(audit)}, {len(audit.sound_set)} in all"
        rows += [("sound", sound), ("completion", completion)]
        rows += [("added", labels.listed(audit.added))] if audit.completed else []
    rows += facts.to_try([audit.unknown_reason, *audit.unknown_reasons.values()])
    smallest = {"smallest sound set": audit.minimum, "smallest that holds it": audit.completion}
    rows += [(name, _minimum(one)) for name, one in smallest.items() if one is not None]
    return rows


def _minimum(found: Minimum) -> str:
    """Return the size of the smallest set, or the range that it is known to be in."""
    if found.proven:
        return f"{counted(found.size, 'feature')}, proven"
    return f"{found.lower_bound} to {counted(found.size, 'feature')}"


def check_sentence(about: Result, verdict: Verdict, free: FeatureSet) -> str:
    """Return the claim that the features ``free`` may change, or what refutes it."""
    if (point := _point(verdict)) is not None:
        return " ".join(
            [sentences.change_sentence(about, point), *sentences.scope_sentences(about)]
        )
    kept = tuple(feature for feature in range(len(about.groups)) if feature not in free)
    claim = sentences.set_claim(about, kept, "that are fixed")
    claim = claim if verdict.holds else sentences.open_claim(claim, verdict.reason)
    return " ".join([claim, *sentences.rules_sentences(about)])


def check_facts(about: Result, verdict: Verdict, free: FeatureSet) -> facts.Facts:
    """Return the facts about a check, as pairs of a name and a text."""
    answer, point = verdict.answer.name, _point(verdict)
    if verdict.bound is not None:
        answer += f", proven: no margin is above {up(verdict.bound)}"
    elif verdict.holds:
        answer += ", proven: ties within rounding were run by the model itself"
    elif point is not None:
        answer += f": {becomes_text(about, point)}, run by the model itself"
    else:
        answer += f": {verdict.reason}"
    return [
        ("in words", check_sentence(about, verdict, free)),
        *facts.about_facts(about),
        ("free", f"{counted(len(free), 'feature')}: {labels_of(about).listed(free)}"),
        ("answer", answer),
        *([] if point is None else facts.change_facts(about, point)),
        *facts.effort_facts(about),
    ]


def _point(verdict: Verdict) -> Counterfactual | None:
    if verdict.witness is None or verdict.prediction is None:
        return None
    return Counterfactual(verdict.witness, verdict.prediction, verdict.rival)


WORDS = {
    "audit": facts.Wording(audit_headline, audit_outcome, audit_sentence, audit_facts),
}
