"""The importance of features, and the part of protected ones, in words and as facts."""

from milp_verix.base.number_text import counted, down, nearest, up
from milp_verix.results.importance import Importance, Relevance
from milp_verix.views import sentences, wording
from milp_verix.views.facts import Facts, Wording, axes_facts, change_facts, to_try
from milp_verix.views.labels import SHOWN, change_texts, labels_of
from milp_verix.views.sentences import held_text, scope_sentences

NAMES = {
    "shapley": "Shapley value",
    "holler-packel": "Holler-Packel index",
    "deegan-packel": "Deegan-Packel index",
    "responsibility": "responsibility",
}
_MEANING = {
    "shapley": "how often, over all orders of the features, it turns a set into one that keeps "
    "the prediction",
    "holler-packel": "the share of minimal explanations that contain it",
    "deegan-packel": "the share of minimal explanations that contain it, each shared out among "
    "its features",
    "responsibility": "1 / k, if its smallest minimal explanation has k features",
}
_DIGITS, _MOST = 3, 5
"""So many features are listed in a sentence with their importance."""


def importance_headline(found: Importance) -> str:
    """Return the result in a line: ``"Decision “no”: importance of 13 features, exact"``."""
    count = counted(len(found.ranking), "feature")
    how = "exact" if found.exact else "in proven brackets"
    return f"{wording.predicted_text(found)}: importance of {count} ({NAMES[found.index]}), {how}"


def importance_outcome(found: Importance) -> str:
    """Return how far the importance is known."""
    if found.exact:
        return "exact, proven"
    widest = max(high - low for low, high in zip(found.lower, found.upper, strict=True))
    reason = found.unknown_reason or "unknown"
    return f"proven brackets, {up(widest, 2)} wide at most: {reason}"


def bracket_of(found: Importance, feature: int) -> str:
    """Return ``"0.25"``, or ``"0.2 to 0.31"`` rounded outward."""
    low, high = found.lower[feature], found.upper[feature]
    if low == high:
        return nearest(low, _DIGITS)
    return f"{down(low, _DIGITS)} to {up(high, _DIGITS)}"


def importance_sentence(found: Importance) -> str:
    """Return the most important features with their importance, and how far it is proven."""
    labels, ranking, upper = labels_of(found), found.ranking, found.upper  # computed at each call
    none = [feature for feature in ranking if not upper[feature]]
    texts = [feature for feature in ranking if upper[feature]]
    if not texts:
        return " ".join([f"{_subject(found)} is 0: none is needed.", *scope_sentences(found)])
    named = texts if len(texts) == _MOST + 1 else texts[:_MOST]
    parts = [wording.joined([f"{bracket_of(found, one)} for {labels[one]}" for one in named])]
    if rest := texts[len(named) :]:
        most = up(max(upper[feature] for feature in rest), _DIGITS)
        each = "each of " * (len(rest) > 1)
        parts.append(f"at most {most} for {each}{counted(len(rest), 'other feature')}")
    if none:
        which = "the other feature" if len(none) == 1 else f"the other {len(none)} features"
        parts.append(f"0 for {which}")
    claim = f"{_subject(found)} is {'; '.join(parts)}."
    open_ = f"the values are open: {found.unknown_reason or 'unknown'}"
    how = "These values are exact." if found.exact else f"These brackets are proven; {open_}."
    return " ".join([claim, how, *_misordered(found), *scope_sentences(found)])


def _subject(found: Importance) -> str:
    question = f"{wording.decided(found)}{wording.compared(found)}"
    return f"The importance of features for {question} ({NAMES[found.index]})"


def _misordered(found: Importance) -> list[str]:
    """Return a sentence on the scores by another tool, if there are any."""
    if found.beside is None:
        return []
    pairs, labels, lower, upper = found.misordered, labels_of(found), found.lower, found.upper
    text = f"{NAMES[found.index]} for {wording.decided(found)}{wording.compared(found)}"
    order = f"{counted(len(pairs), 'pair') if pairs else 'no pair'} of features otherwise"
    text = f"The given scores order {order} than proven of the {text}"
    if not pairs:
        return [f"{text}."]
    first, second = max(pairs, key=lambda pair: lower[pair[1]] - upper[pair[0]])
    such = "" if len(pairs) == 1 else "such as "
    return [f"{text}: {such}{labels[first]} before {labels[second]}."]


def importance_facts(found: Importance) -> Facts:
    """Return the facts about ``found`` that others have not."""
    labels, ranking, upper = labels_of(found), found.ranking, found.upper
    rows = [("index", f"{NAMES[found.index]}: {_MEANING[found.index]}"), *axes_facts(found)]
    shown = [feature for feature in ranking if upper[feature]][:SHOWN]
    rows += [(labels.short(feature), _row(found, feature)) for feature in shown]
    if len(ranking) > len(shown):
        rest = ranking[len(shown) :]
        most = up(max(upper[feature] for feature in rest), _DIGITS)
        rows.append(("", f"{counted(len(rest), 'other feature')}: {most} at most"))
    if found.beside is not None:
        pairs = [f"{labels[a]} before {labels[b]}" for a, b in found.misordered]
        listed = wording.listed_texts(pairs, "other pair", SHOWN) if pairs else "none"
        rows.append(("ordered otherwise", f"by the given scores than proven: {listed}"))
    kept, changed = (counted(len(some), "set") for some in (found.sufficient, found.contrasts))
    rows.append(("known", f"sufficient for the prediction: {kept}; able to change it: {changed}"))
    rows.append(("exact", "yes, proven" if found.exact else f"no: {found.unknown_reason}"))
    if not found.exact:
        rows += to_try([found.statistics.stopped, found.unknown_reason])
    return rows


def _row(found: Importance, feature: int) -> str:
    beside = "" if found.beside is None else f"; given {nearest(found.beside[feature], _DIGITS)}"
    return f"{bracket_of(found, feature)}{beside}"


_PARTS = {
    "necessary": "necessary: in every explanation",
    "relevant": "relevant: in some minimal explanation",
    "irrelevant": "irrelevant: in no minimal explanation",
    "unknown": "not known",
}


def relevance_headline(found: Relevance) -> str:
    """Return the result in a line: ``"Prediction 1: sex is necessary: in every explanation"``."""
    if not (moving := _moving(found)):
        return f"{wording.predicted_text(found)}: {held_text(found, found.features)}"
    names = ", ".join(labels_of(found)[feature] for feature in moving)
    verb = "are" if len(moving) > 1 else "is"
    return f"{wording.predicted_text(found)}: {names} {verb} {_PARTS[found.role]}"


def relevance_sentence(found: Relevance) -> str:
    """Return the part of the protected features, and the people that prove it."""
    return " ".join([_part(found), *scope_sentences(found)])


def _moving(found: Relevance) -> list[int]:
    """Return the protected features that can change."""
    still = {*found.still}
    return [feature for feature in found.features if feature not in still]


def _part(found: Relevance) -> str:
    keeping = "keeping " if found.delta is not None else ""
    where = f"In {keeping}{wording.decided(found)}{wording.compared(found)}"
    if not (moving := _moving(found)):
        return f"{where}, {held_text(found, found.features)}."
    names = labels_of(found).named(moving, len(moving))
    several = len(moving) > 1
    play, them = ("play", "one of them") if several else ("plays", "it")
    point = found.counterfactual
    if point is None or found.free is None:
        if found.relevant is None:
            where = f"{names} {play} a part in {wording.decided(found)}{wording.compared(found)}"
            return f"It is open if {where}: {found.unknown_reason}."
        return f"{where}, {names} {play} no part: no minimal explanation contains {them}."
    if found.necessary:
        return sentences.change_sentence(found, point, " alone")
    decide = f"{'decide' if several else 'decides'}{wording.between_text(found)}"
    words = f"Together with other changes, {names} {decide}. "
    if found.unchanged is None or found.inputs is None:
        return words + sentences.change_sentence(found, point)
    protected = {found.inputs.names[feature] for feature in found.features}
    names_changed = found.inputs.changes(found.input, point.input)
    pairs = [*zip(names_changed, change_texts(found, point), strict=True)]
    others, own = (
        [text for name, text in pairs if (name in protected) is kind] for kind in (False, True)
    )
    with_others = f"With {sentences.changes_listed(others)}, {wording.stays_text(found)}."
    becomes = wording.becomes_clause(found, point)
    return f"{words}{with_others} With {wording.joined(own)} as well, {becomes}."


def relevance_outcome(found: Relevance) -> str:
    """Return how far the answer is proven."""
    if found.settled:
        return "proven"
    missing = "not known if necessary" if found.relevant else "not decided"
    return f"{missing}: {found.unknown_reason}"


def relevance_facts(found: Relevance) -> Facts:
    """Return the facts about ``found`` that others have not."""
    labels = labels_of(found)
    role = _PARTS[found.role] if _moving(found) else held_text(found, found.features)
    rows = [
        ("protected", ", ".join(labels.short(feature) for feature in found.features)),
        ("part", f"{role}; {relevance_outcome(found)}"),
    ]
    if not found.settled:
        rows += to_try([found.statistics.stopped, found.unknown_reason])
    if found.free:
        free = labels.listed(found.free)
        rows.append(("others that may change", f"{free}: proven that {wording.kept_text(found)}"))
    if found.counterfactual is not None:
        rows += change_facts(found, found.counterfactual)
        after = wording.named_prediction(found, found.counterfactual.prediction)
        rows.append(("counterfactual", f"{after}, run by the model itself"))
    return rows


WORDS = {
    "importance": Wording(
        importance_headline, importance_outcome, importance_sentence, importance_facts
    ),
    "relevance": Wording(
        relevance_headline, relevance_outcome, relevance_sentence, relevance_facts
    ),
}
