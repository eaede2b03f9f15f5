"""Explanations of a text: which words have to stand in it, whatever other words go."""

import numpy as np

from milp_verix.results.records.base import Result
from milp_verix.results.records.contrast import ContrastiveExplanationRecord
from milp_verix.results.records.explanation import ExplanationRecord
from milp_verix.views.words.wording import joined


def message_claim(explanation: ExplanationRecord) -> str | None:
    """Return ``"spam as long as “free” stands in it, whatever other words go."``.

    None if the input is no text, or if the claim is about less: a narrower ball, one rival. Words
    that have no room to go are named with those of the explanation.
    """
    inputs, radii = explanation.inputs, explanation.radii
    if inputs is None or inputs.passage is None or radii is None:
        return None
    held = sorted({*explanation.explanation, *explanation.still})
    counts = np.rint(explanation.input).astype(int).reshape(-1).tolist()
    reach = [max(n, one.upper - n) for n, one in zip(counts, inputs.features, strict=True)]
    whole = all(radii[f] >= room for f, room in enumerate(reach) if f not in held)
    names, prediction = explanation.class_names, explanation.prediction
    less = not whole or explanation.norm != "linf" or explanation.against or inputs.rules
    if less or not isinstance(prediction, int):
        return None
    kept = [
        f"“{inputs.names[f]}”" + f" ({counts[f]} times)" * (counts[f] > 1)
        for f in held
        if counts[f]
    ]
    out = [f"“{inputs.names[f]}”" for f in held if not counts[f]]
    told = names[prediction] if names else str(prediction)
    parts = [f"class {told}" if told.isdigit() else told]
    do = "does" if len(out) == 1 else "do"
    if kept:
        parts.append(f"as long as {joined(kept)} {'stands' if len(kept) == 1 else 'stand'} in it")
    if kept and out:
        parts.append(f"and {joined(out)} {do} not")
    elif out:
        parts.append(f"as long as {joined(out)} {do} not come in")
    come = " or come" * (0 in counts)
    return f"{' '.join(parts)}, whatever other words go{come}."


def marked_words(result: Result) -> list[tuple[str, bool]]:
    """Return the text in parts, each with whether the answer names it; none for another input.

    Words of the text whose places are not known are listed behind it.
    """
    if result.inputs is None or result.inputs.passage is None:
        return []
    named: tuple[int, ...] = ()
    if isinstance(result, ExplanationRecord):
        named = (*result.explanation, *result.still)
    elif isinstance(result, ContrastiveExplanationRecord):
        named = result.contrast or ()
    passage, counts = result.inputs.passage, result.input.reshape(-1)
    unplaced = [f for f in sorted(named) if counts[f] > 0 and not passage.spans[f]]
    listed = [part for f in unplaced for part in ((", ", False), (result.inputs.names[f], True))]
    behind = [(" [words: ", False), *listed[1:], ("]", False)] if listed else []
    return [*passage.parts({*named}), *behind]
