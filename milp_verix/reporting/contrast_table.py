"""Tell findings in words: contrastive explanations, and enumerations."""

from milp_verix.records.base import Finding
from milp_verix.records.contrast import ContrastiveExplanation
from milp_verix.records.enumeration import Enumeration, FeatureSet
from milp_verix.reporting.explanation_table import (
    domain_fact,
    features_facts,
    html_of,
    prediction_fact,
)
from milp_verix.reporting.feature_labels import SHOWN, labels_of
from milp_verix.reporting.wording import (
    ball_text,
    changed_text,
    counted,
    number,
    prediction_text,
    seconds_text,
)


def contrast_headline(found: ContrastiveExplanation) -> str:
    """Return the finding in a line: ``"Prediction 7, changed to 2 by 6 of 64 features"``."""
    prediction = prediction_text(found.prediction, 3)
    if found.contrast is None or found.counterfactual is None:
        outcome = "changed by nothing in the ball" if found.robust else "no contrast found"
        return f"Prediction {prediction}, {outcome}"
    changed = changed_text(found.prediction, found.counterfactual.prediction)
    features = counted(len(found.groups), "feature")
    return f"Prediction {prediction} {changed}, by {found.size} of {features}"


def contrast_outcome(found: ContrastiveExplanation) -> str:
    """Return what is proven, in words."""
    if found.robust:
        return "proven: no change in the ball changes the prediction"
    if found.contrast is None:
        return f"undecided: {found.unknown_reason or found.statistics.stopped or 'unknown'}"
    least = "cheaper" if found.costs else "smaller"
    if found.proven:
        return f"proven: no {least} set changes the prediction"
    return f"not proven: none {'costs less' if found.costs else 'has fewer'} than " + number(
        found.lower_bound or 0.0
    )


def contrast_facts(found: ContrastiveExplanation) -> list[tuple[str, str]]:
    """Return what is worth telling, as pairs of a name and a text."""
    told = _about(found)
    if found.contrast is not None and found.counterfactual is not None:
        told += [
            ("contrast", f"{found.size} of {counted(len(found.groups), 'feature')}"),
            *features_facts(found, found.contrast),
            ("counterfactual", changed_text(found.prediction, found.counterfactual.prediction)),
        ]
    if found.costs is not None and found.cost is not None:
        told.append(("cost", number(found.cost)))
    told.append(("minimum", contrast_outcome(found)))
    return told + _effort(found)


def contrast_html(found: ContrastiveExplanation) -> str:
    """Return a contrastive explanation as HTML, with its picture."""
    return html_of(contrast_headline(found), found.plot(), contrast_facts(found))


def enumeration_headline(found: Enumeration) -> str:
    """Return the finding in a line: how many of each kind, and whether these are all."""
    kinds = f"{len(found.abductive)} abductive and {len(found.contrastive)} contrastive"
    complete = "complete" if found.complete else "not complete"
    return f"Prediction {prediction_text(found.prediction, 3)}: {kinds} explanations, {complete}"


def enumeration_facts(found: Enumeration) -> list[tuple[str, str]]:
    """Return what is worth telling, as pairs of a name and a text."""
    told, labels = _about(found), labels_of(found)
    if labels.axes:
        told.append((labels.unit, f"listed as {labels.axes} from 0"))
    for name, sets in (
        ("abductive", found.abductive),
        ("contrastive", tuple(found.contrastive)),
    ):
        told.append((name, _sizes(sets)))
        told += [("", labels.listed(one) or "the empty set") for one in sets[:SHOWN]]
        if len(sets) > SHOWN:
            told.append(("", f"… and {len(sets) - SHOWN} more"))
    complete = "yes, proven: there are no others"
    if not found.complete:
        reason = found.statistics.stopped or found.unknown_reason or "unknown"
        complete = f"no: {reason}"
    told.append(("complete", complete))
    return told + _effort(found)


def _sizes(sets: tuple[FeatureSet, ...]) -> str:
    if not sets:
        return "none"
    least, most = min(map(len, sets)), max(map(len, sets))
    sizes = counted(least, "feature") if least == most else f"{least} to {most} features"
    return f"{counted(len(sets), 'minimal explanation')} of {sizes}"


def _about(found: Finding) -> list[tuple[str, str]]:
    return [
        ("model", f"{found.model.file} (SHA-256 {found.model.sha256[:12]}…)"),
        ("prediction", prediction_fact(found)),
        ("ball", f"{ball_text(found)}, {domain_fact(found)}"),
    ]


def _effort(found: Finding) -> list[tuple[str, str]]:
    statistics = found.statistics
    checks, solves = counted(statistics.checks, "check"), counted(statistics.solves, "solve")
    stopped = f"; stopped: {statistics.stopped}" if statistics.stopped else ""
    return [
        ("solver", f"{found.solver} {found.versions.get(found.solver, '')}".strip()),
        ("effort", f"{checks}, {solves}"),
        ("time", seconds_text(statistics.seconds) + stopped),
        *(("note", note) for note in found.notes),
    ]
