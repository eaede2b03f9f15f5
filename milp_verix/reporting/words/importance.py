"""The importance of features in words, and the facts about it."""

from milp_verix.number_text import down, nearest, up
from milp_verix.reporting.words.explanation import about_facts, effort_facts, to_try
from milp_verix.reporting.words.feature_labels import SHOWN, labels_of
from milp_verix.reporting.words.sentences import compared, decided, scope_sentences
from milp_verix.reporting.words.wording import counted, joined, listed_texts, predicted_text
from milp_verix.results.records.importance import ImportanceRecord

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
_DIGITS = 3
_TOLD = 5
"""So many features are told in a sentence with their importance."""


def importance_headline(found: ImportanceRecord) -> str:
    """Return the result in a line: ``"Decision “no”: importance of 13 features, exact"``."""
    count = counted(len(found.ranking), "feature")
    how = "exact" if found.exact else "in proven brackets"
    return f"{predicted_text(found)}: importance of {count} ({NAMES[found.index]}), {how}"


def importance_outcome(found: ImportanceRecord) -> str:
    """Return how far the importance is known."""
    if found.exact:
        return "exact, proven"
    widest = max(high - low for low, high in zip(found.lower, found.upper, strict=True))
    reason = found.unknown_reason or "unknown"
    return f"proven brackets, {up(widest, 2)} wide at most: {reason}"


def bracket_of(found: ImportanceRecord, feature: int) -> str:
    """Return ``"0.25"``, or ``"0.2 to 0.31"`` rounded outward."""
    low, high = found.lower[feature], found.upper[feature]
    if low == high:
        return nearest(low, _DIGITS)
    return f"{down(low, _DIGITS)} to {up(high, _DIGITS)}"


def importance_sentence(found: ImportanceRecord) -> str:
    """Return the most important features with their importance, and how far it is proven."""
    labels, ranking, upper = labels_of(found), found.ranking, found.upper  # computed at each call
    none = [feature for feature in ranking if not upper[feature]]
    told = [feature for feature in ranking if upper[feature]]
    if not told:
        return " ".join([f"{_begun(found)} is 0: none is needed.", *scope_sentences(found)])
    named = told if len(told) == _TOLD + 1 else told[:_TOLD]
    parts = [joined([f"{bracket_of(found, one)} for {labels[one]}" for one in named])]
    if rest := told[len(named) :]:
        most = up(max(upper[feature] for feature in rest), _DIGITS)
        each = "each of " * (len(rest) > 1)
        parts.append(f"at most {most} for {each}{counted(len(rest), 'other feature')}")
    if none:
        which = "the other feature" if len(none) == 1 else f"the other {len(none)} features"
        parts.append(f"0 for {which}")
    claim = f"{_begun(found)} is {'; '.join(parts)}."
    open_ = f"the values are open: {found.unknown_reason or 'unknown'}"
    how = "These values are exact." if found.exact else f"These brackets are proven; {open_}."
    return " ".join([claim, how, *_misordered(found), *scope_sentences(found)])


def _begun(found: ImportanceRecord) -> str:
    asked = f"{decided(found)}{compared(found)}"
    return f"The importance of features for {asked} ({NAMES[found.index]})"


def _misordered(found: ImportanceRecord) -> list[str]:
    """Return a sentence on the scores by another tool, if there are any."""
    if found.beside is None:
        return []
    pairs, labels = found.misordered, labels_of(found)
    told = (
        f"The given scores order {counted(len(pairs), 'pair') if pairs else 'no pair'} of features"
    )
    told += f" otherwise than proven of the {NAMES[found.index]} for {decided(found)}"
    if not pairs:
        return [f"{told}{compared(found)}."]
    lower, upper = found.lower, found.upper
    first, second = max(pairs, key=lambda pair: lower[pair[1]] - upper[pair[0]])
    such = "" if len(pairs) == 1 else "such as "
    return [f"{told}{compared(found)}: {such}{labels[first]} before {labels[second]}."]


def importance_facts(found: ImportanceRecord) -> list[tuple[str, str]]:
    """Return the facts about ``found``, as pairs of a name and a text."""
    labels, ranking, upper = labels_of(found), found.ranking, found.upper
    told = [
        ("in words", importance_sentence(found)),
        *about_facts(found),
        ("index", f"{NAMES[found.index]}: {_MEANING[found.index]}"),
    ]
    if labels.axes:
        told.append((labels.unit, f"listed as {labels.axes} from 0"))
    shown = [feature for feature in ranking if upper[feature]][:SHOWN]
    told += [(labels.short(feature), _row(found, feature)) for feature in shown]
    if len(ranking) > len(shown):
        rest = ranking[len(shown) :]
        most = up(max(upper[feature] for feature in rest), _DIGITS)
        told.append(("", f"{counted(len(rest), 'other feature')}: {most} at most"))
    if found.beside is not None:
        pairs = [f"{labels[a]} before {labels[b]}" for a, b in found.misordered]
        listed = listed_texts(pairs, "other pair", SHOWN) if pairs else "none"
        told.append(("ordered otherwise", f"by the given scores than proven: {listed}"))
    kept, changed = (counted(len(some), "set") for some in (found.sufficient, found.contrasts))
    told.append(("known", f"sufficient for the prediction: {kept}; able to change it: {changed}"))
    told.append(("exact", "yes, proven" if found.exact else f"no: {found.unknown_reason}"))
    if not found.exact:
        told += to_try(found, [found.statistics.stopped, found.unknown_reason])
    return told + effort_facts(found)


def _row(found: ImportanceRecord, feature: int) -> str:
    beside = "" if found.beside is None else f"; given {nearest(found.beside[feature], _DIGITS)}"
    return f"{bracket_of(found, feature)}{beside}"
