"""Facts about the part of protected features, as pairs of a name and a text."""

from milp_verix.results.records.relevance import RelevanceRecord
from milp_verix.views.words.explanation import about_facts, effort_facts, to_try, words_facts
from milp_verix.views.words.feature_labels import change_texts, labels_of
from milp_verix.views.words.sentences import (
    becomes_told,
    between_told,
    change_told,
    changes_listed,
    compared,
    decided,
    held_told,
    scope_sentences,
    stays_text,
)
from milp_verix.views.words.wording import joined, kept_text, named_prediction, predicted_text

_PARTS = {
    "necessary": "necessary: in every explanation",
    "relevant": "relevant: in some minimal explanation",
    "irrelevant": "irrelevant: in no minimal explanation",
    "unknown": "not known",
}


def relevance_headline(found: RelevanceRecord) -> str:
    """Return the result in a line: ``"Prediction 1: sex is necessary: in every explanation"``."""
    if not (moving := _moving(found)):
        return f"{predicted_text(found)}: {held_told(found, found.features)}"
    names = ", ".join(labels_of(found)[feature] for feature in moving)
    verb = "are" if len(moving) > 1 else "is"
    return f"{predicted_text(found)}: {names} {verb} {_PARTS[found.role]}"


def relevance_sentence(found: RelevanceRecord) -> str:
    """Return the part of the protected features, and the people that prove it."""
    return " ".join([_part(found), *scope_sentences(found)])


def _moving(found: RelevanceRecord) -> list[int]:
    """Return the protected features that have room to change."""
    return [feature for feature in found.features if feature not in {*found.still}]


def _part(found: RelevanceRecord) -> str:
    keeping = "keeping " if found.delta is not None else ""
    where = f"In {keeping}{decided(found)}{compared(found)}"
    if not (moving := _moving(found)):
        return f"{where}, {held_told(found, found.features)}."
    names = labels_of(found).named(moving, len(moving))
    several = len(moving) > 1
    play, them = ("play", "one of them") if several else ("plays", "it")
    point = found.counterfactual
    if point is None or found.free is None:
        if found.relevant is None:
            where = f"{names} {play} a part in {decided(found)}{compared(found)}"
            return f"It is open if {where}: {found.unknown_reason}."
        return f"{where}, {names} {play} no part: no minimal explanation contains {them}."
    if found.necessary:
        return change_told(found, point, " alone")
    decide = f"{'decide' if several else 'decides'}{between_told(found)}"
    told = f"Together with other changes, {names} {decide}. "
    if found.unchanged is None or found.inputs is None:
        return told + change_told(found, point)
    protected = {found.inputs.names[feature] for feature in found.features}
    names_changed = found.inputs.changes(found.input, point.input)
    pairs = [*zip(names_changed, change_texts(found, point), strict=True)]
    others, own = (
        [text for name, text in pairs if (name in protected) is kind] for kind in (False, True)
    )
    with_others = f"With {changes_listed(others)}, {stays_text(found)}."
    return f"{told}{with_others} With {joined(own)} as well, {becomes_told(found, point)}."


def relevance_outcome(found: RelevanceRecord) -> str:
    """Return how far the answer is proven."""
    if found.settled:
        return "proven"
    missing = "not known if necessary" if found.relevant else "not decided"
    return f"{missing}: {found.unknown_reason}"


def relevance_facts(found: RelevanceRecord) -> list[tuple[str, str]]:
    """Return the facts about ``found``."""
    labels = labels_of(found)
    role = _PARTS[found.role] if _moving(found) else held_told(found, found.features)
    told = [
        *words_facts(found, relevance_sentence),
        *about_facts(found),
        ("protected", ", ".join(labels.short(feature) for feature in found.features)),
        ("part", f"{role}; {relevance_outcome(found)}"),
    ]
    if not found.settled:
        told += to_try(found, [found.statistics.stopped, found.unknown_reason])
    if found.free:
        free = labels.listed(found.free)
        told.append(("others that may change", f"{free}: proven that {kept_text(found)}"))
    if found.counterfactual is not None:
        told += [("change", text) for text in change_texts(found, found.counterfactual)]
        after = named_prediction(found, found.counterfactual.prediction)
        told.append(("counterfactual", f"{after}, run by the model itself"))
    return told + effort_facts(found)
