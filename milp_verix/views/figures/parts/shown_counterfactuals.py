"""Choice of counterfactuals to show: a few, of as many predictions as possible."""

from collections.abc import Collection

from milp_verix.results.records.explanation import ExplanationRecord


def chosen(
    explanation: ExplanationRecord, limit: int, among: Collection[int] | None = None
) -> tuple[int, ...]:
    """Return at most ``limit`` features whose counterfactuals to show, by class, then ascending.

    Every predicted class gets one before any gets a second, the most frequent first; within a
    class, and for a regression, they are spread evenly. ``among`` restricts the features.
    """
    by_class: dict[int, list[int]] = {}
    for feature, counterfactual in sorted(explanation.counterfactuals.items()):
        if among is None or feature in among:
            prediction = counterfactual.prediction
            # the values of a regression are all different, so that they tell nothing apart
            label = prediction if isinstance(prediction, int) else 0
            by_class.setdefault(label, []).append(feature)
    most_frequent_first = sorted(by_class, key=lambda label: (-len(by_class[label]), label))
    turns = sorted(
        (turn, place, label)
        for place, label in enumerate(most_frequent_first)
        for turn in range(len(by_class[label]))
    )
    taken = [label for _, _, label in turns[:limit]]
    return tuple(
        feature
        for label in sorted(by_class)
        for feature in _spread(by_class[label], taken.count(label))
    )


def _spread(features: list[int], count: int) -> list[int]:
    # the middle of each of `count` equal parts
    return [features[(2 * part + 1) * len(features) // (2 * count)] for part in range(count)]
