"""Facts about the part of protected features, as pairs of a name and a text."""

from milp_verix.reporting.words.explanation import about_facts, effort_facts, to_try, words_facts
from milp_verix.reporting.words.feature_labels import change_texts, labels_of
from milp_verix.reporting.words.sentences import relevance_sentence
from milp_verix.reporting.words.wording import kept_text, outcome_of, predicted_text
from milp_verix.results.records.relevance import RelevanceRecord

_PARTS = {
    "necessary": "necessary: in every explanation",
    "relevant": "relevant: in some minimal explanation",
    "irrelevant": "irrelevant: in no minimal explanation",
    "still": "without room to change: in no minimal explanation",
    "unknown": "not known",
}


def relevance_headline(found: RelevanceRecord) -> str:
    """Return the result in a line: ``"Prediction 1: sex is necessary: in every explanation"``."""
    names = ", ".join(labels_of(found)[feature] for feature in found.features)
    verb = "are" if len(found.features) > 1 else "is"
    return f"{predicted_text(found)}: {names} {verb} {_part(found)}"


def relevance_outcome(found: RelevanceRecord) -> str:
    """Return how far the answer is proven."""
    if found.settled:
        return "proven"
    missing = "not known if necessary" if found.relevant else "not decided"
    return f"{missing}: {found.unknown_reason}"


def relevance_facts(found: RelevanceRecord) -> list[tuple[str, str]]:
    """Return the facts about ``found``."""
    labels = labels_of(found)
    told = [
        *words_facts(found, relevance_sentence),
        *about_facts(found),
        ("protected", ", ".join(labels.short(feature) for feature in found.features)),
        ("part", f"{_part(found)}; {relevance_outcome(found)}"),
    ]
    if not found.settled:
        told += to_try(found, [found.statistics.stopped, found.unknown_reason])
    if found.free:
        free = labels.listed(found.free)
        told.append(("others that may change", f"{free}: proven that {kept_text(found)}"))
    if found.counterfactual is not None:
        if found.inputs is not None:
            changes = change_texts(found, found.counterfactual)
            told += [("change", text) for text in changes]
        after = outcome_of(found, found.counterfactual)
        told.append(("counterfactual", f"{after}, run by the model itself"))
    return told + effort_facts(found)


def _part(found: RelevanceRecord) -> str:
    still = found.role == "irrelevant" and {*found.features} <= {*found.still}
    return _PARTS["still" if still else found.role]
