"""Features in words: a name, a row and a column, a number, or a word of a message."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from milp_verix.base.image_shape import image_layout
from milp_verix.results.base import Counterfactual, Result
from milp_verix.results.explanation import Explanation
from milp_verix.views.wording import as_one, joined, listed_texts, shortened, value_text

SHOWN = 12
"""Number of features that a list shows; it counts the remaining ones."""

_UNITS = {2: "pixels", 3: "pixel values"}
_AXES = {2: "(row,column)", 3: "(row,column,channel)"}


@dataclass(frozen=True, slots=True)
class FeatureLabels:
    """The labels of the features of one result.

    ``places`` holds the row and the column of each feature, and its channel where pixels have
    features of their own for each; None where features are no pixels. All count from 0. ``names``
    are the user's names, or None; ``values`` are those of a described input in words.
    """

    places: tuple[tuple[int, ...], ...] | None
    names: tuple[str, ...] | None
    values: tuple[str, ...] | None = None

    def __getitem__(self, feature: int) -> str:
        """Return ``"age"``, ``"row 3 column 5"`` or ``"feature 7"``."""
        if self.names is not None:
            return as_one(self.names[feature])
        if self.places is None:
            return f"feature {feature}"
        words = zip(("row", "column", "channel"), self.places[feature], strict=False)
        return " ".join(f"{word} {number}" for word, number in words)

    def fitting(self, feature: int, most: int) -> str:
        """Return the label, of ``most`` characters if it is a name; else a place by its numbers."""
        place = self.names is None and self.places is not None and len(self[feature]) > most
        return self.short(feature) if place else shortened(self[feature], most)

    def short(self, feature: int, most: int = 0) -> str:
        """Return ``"age"``, ``"age = 39"``, ``"(3,5)"`` or ``"7"``, for lists.

        A name is shortened where the text has more than ``most`` characters, if that is given; a
        value is not, since a part of a number would be another number.
        """
        if self.names is not None:
            value = "" if self.values is None else f" = {self.values[feature]}"
            name = self.names[feature]
            return f"{shortened(name, max(most - len(value), 8)) if most else name}{value}"
        if self.places is None:
            return str(feature)
        # without spaces, so that no line ends inside
        return f"({','.join(map(str, self.places[feature]))})"

    def named(self, features: Sequence[int], most: int = SHOWN) -> str:
        """Return the first ``most`` of ``features`` for a sentence, and how many others."""
        return listed_texts([self[feature] for feature in features], "other feature", most)

    def listed(self, features: Sequence[int], most: int = SHOWN) -> str:
        """Return the first ``most`` of ``features`` and how many more there are."""
        shown = ", ".join(self.short(feature) for feature in features[:most])
        left = len(features) - most
        return f"{shown}, … and {left} more" if left > 0 else shown

    @property
    def axes(self) -> str:
        """Meaning of the numbers, ``"(row,column)"`` or with the channel; empty for no pixels."""
        return "" if self.names is not None or not self.places else _AXES[len(self.places[0])]

    @property
    def unit(self) -> str:
        """The kind of the features: ``"pixels"``, ``"pixel values"`` or ``"features"``."""
        pixels = self.names is None and self.places
        return _UNITS[len(pixels[0])] if pixels else "features"


def labels_of(result: Result, image_shape: tuple[int, ...] | None = None) -> FeatureLabels:
    """Return the labels of the features of ``result``.

    ``image_shape`` is that of an input of another shape, the result's own by default, if it fits.
    """
    shape = image_shape or result.image_shape or result.model.input_shape
    values = None
    if result.inputs is not None:
        texts = zip(result.inputs.features, result.inputs.texts(result.input), strict=True)
        values = tuple(value_text(one, text) for one, text in texts)
    return FeatureLabels(_places(result.groups, shape), result.feature_names, values)


def change_texts(result: Result, other: Counterfactual, first: str | None = None) -> list[str]:
    """Return the changes of a described input, ``"age: 39 → 45 years"``; ``first`` leads."""
    if result.inputs is None:
        return []
    changes = result.inputs.changes(result.input, other.input)
    units = {feature.name: f" {feature.unit}" for feature in result.inputs.features if feature.unit}
    labels, places = labels_of(result), {n: at for at, n in enumerate(result.inputs.names)}
    names = sorted(changes, key=lambda name: labels[places[name]] != first)
    return [
        f"{labels[places[name]]}: {before.removesuffix(units.get(name, ''))} → {after}"
        for name in names
        for kind in [result.inputs.features[places[name]]]
        for before, after in [[value_text(kind, text) for text in changes[name]]]
    ]


def _places(
    groups: tuple[tuple[int, ...], ...], shape: tuple[int, ...]
) -> tuple[tuple[int, ...], ...] | None:
    layout, size = image_layout(shape), sum(map(len, groups))
    if layout is None or prod(shape) != size:
        return None
    height, width, axis = layout
    channels = size // (height * width)
    first = (channels, height, width) if axis == 0 else (height, width, channels)
    places = np.stack(np.unravel_index(np.arange(size), first), axis=1)
    if axis == 0:
        places = places[:, [1, 2, 0]]
    if max(map(len, groups), default=0) == 1:
        kept = 3 if channels > 1 else 2
        return tuple(map(tuple, places[[group[0] for group in groups], :kept].tolist()))
    pixels = [np.unique(places[list(group), :2], axis=0) for group in groups]
    if all(len(pixel) == 1 for pixel in pixels) and len(groups) == height * width:
        return tuple(tuple(pixel[0].tolist()) for pixel in pixels)
    return None


def message_claim(explanation: Explanation) -> str | None:
    """Return ``"spam as long as “free” stands in it, whatever other words go."``.

    None if the input is no text, or if the claim is about less: a narrower ball, one rival. Words
    that cannot go are named with those of the explanation.
    """
    inputs, radii = explanation.inputs, explanation.radii
    if inputs is None or inputs.passage is None or radii is None:
        return None
    held = sorted({*explanation.explanation, *explanation.still})
    counts = np.rint(explanation.input).astype(int).reshape(-1).tolist()
    reach = [max(n, one.upper - n) for n, one in zip(counts, inputs.features, strict=True)]
    whole = all(radii[f] >= most for f, most in enumerate(reach) if f not in held)
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
    text = names[prediction] if names else str(prediction)
    parts = [f"class {text}" if text.isdigit() else text]
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
    """Return the text in parts, each with whether the answer names it, words without place last."""
    if result.inputs is None or result.inputs.passage is None:
        return []
    named: tuple[int, ...] = ()
    if isinstance(result, Explanation):
        named = (*result.explanation, *result.still)
    else:
        named = getattr(result, "contrast", None) or ()
    passage, counts = result.inputs.passage, result.input.reshape(-1)
    unplaced = [f for f in sorted(named) if counts[f] > 0 and not passage.spans[f]]
    listed = [part for f in unplaced for part in ((", ", False), (result.inputs.names[f], True))]
    behind = [(" [words: ", False), *listed[1:], ("]", False)] if listed else []
    return [*passage.parts({*named}), *behind]
