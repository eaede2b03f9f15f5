"""Radii: how far each feature may move, in its own unit, as a share of its range, or at will.

| given | radius |
|---|---|
| ``3`` | 3 units of each feature |
| ``"10%"`` | a tenth of the range of each feature |
| ``"0.5sd"`` | half a standard deviation of each feature |
| ``inf``, ``"inf"`` | the whole domain of each feature |
| ``{"age": 5, "wage": "10%", "*": 0}`` | each feature's own; ``"*"`` stands for the others |
| ``[5, 1, 0]`` | one for each feature, in their order |
| an array of the input's shape | one for each coordinate, without a description, too |

Whole numbers move in whole steps; an ordinal value moves by so many places. Two values of a
category are 1 apart, so radii of at least 1 allow all of them, and smaller ones none.

Features without headroom keep the original's value all over the ball: a radius below one whole step
leaves none, nor does one below 1 to a category, nor a range of one value, nor may rules. That a
rule does is proven by cutting the box of each other value around the points of the domain: a box
proven empty has no input. Features that such cuts leave open are not listed.

Arguments with an entry for each feature, understood by the labels that they come with.

A mapping, a Series, a DataFrame of one row: each value goes to the feature of its label, wherever
it stands. A label is a name, or the index of a feature where no name is a number. Without labels,
the order tells.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.arguments import number_in, refuse_file
from milp_verix.base.errors import (
    InputError,
    different_names,
    listed,
    meant,
    refusing,
    same_names,
    shown,
)
from milp_verix.inputs.feature import Feature
from milp_verix.inputs.frame import is_frame
from milp_verix.inputs.inputs import Inputs
from milp_verix.inputs.one_row import counts, row_of
from verix_encodings.arrays import FloatArray, IntArray

_OTHERS = "*"
"""The label that stands for all features that are not named."""


class Labels(NamedTuple):
    """The ``names`` of ``size`` features, if any, and of columns ``unread`` by the model."""

    names: Sequence[str] | None
    size: int
    unread: Sequence[str] = ()


def values_by_label(given: Any, labels: Labels, what: str, usual: str = "") -> Any:
    """Return the values of features in their order; values without labels as they are.

    ``what`` is the name of the argument, and ``usual`` what an error proposes for features left
    out, such as ``": 1"``. Columns that are not read are left out. Raises ``InputError`` for labels
    that are no features, and for features without a label where no ``"*"`` stands for these.
    """
    (names, count, unread), others = labels, None
    if is_frame(given) and counts([*map(str, given.columns)]):
        return given.to_numpy()[0] if len(given) == 1 else given.to_numpy()
    with refusing(what, InputError):
        row = row_of(given)
    if row is None:
        return given
    idle = {*same_names(unread, row).values()}
    row = {label: value for label, value in row.items() if label not in idle}
    known = dict.fromkeys(map(str, range(count)) if names is None else names)
    unnamed = counts([*row]) and (names is None or not {*row} & {*names})
    if unnamed and not isinstance(given, Mapping):
        return np.asarray(given)
    if _OTHERS in row and _OTHERS not in known:
        others = row.pop(_OTHERS)
    named = not unnamed and any(map(str.isdecimal, known))  # by numbers: none is an index, too
    by_index = {} if named else {str(place): name for place, name in enumerate(known)}
    values = {by_index.get(label, label): value for label, value in row.items()}
    found = same_names(known, values)
    used = {*found.values()}
    unknown = [label for label in values if label not in used]
    if names is None and unknown:
        raise InputError(
            f"{what} has the labels {listed(unknown, 5)}, and the features have no names: give a "
            "list in the order of the features, or their names by feature_names"
        )
    if unknown or len(values) < len(row) or (others is None and len(found) < count):
        text = different_names(known if others is None else found, values)
        remedy = f": name them, or add {_OTHERS!r}{usual}" if text else ""
        if unknown:
            remedy = meant(unknown[0], [name for name in known if name not in found])
        text = f"{text}{remedy}" or "two labels are of one feature"
        raise InputError(
            f"{what} by name has a value for each feature, or '*' for the others; {text}"
        )
    return [values[found[name]] if name in found else others for name in known]


def features_listed(given: Any, labels: Labels, what: str) -> Any:
    """Return a list of features as it is; of a mask the indices of the features that are True.

    A mask has True or False, 1.0 or 0.0, for each feature, by name or in their order. Other
    arguments and errors are those of :func:`values_by_label`; numbers by name are refused, too.
    """
    if hasattr(given, "iloc") and not is_frame(given):
        values = given.tolist()
        texts = [all(isinstance(one, str) for one in ones) for ones in (values, given.index)]
        if not values or (not _flags(values) and (texts[0] or not texts[1])):
            return values
    found = values_by_label(given, labels, what)
    mask = found is not given or isinstance(found, np.ndarray | list | tuple)
    if mask and len(found) == labels.size and _flags(found):
        return np.flatnonzero(found).tolist()
    if found is not given and isinstance(found, list):
        raise InputError(
            f"{what} lists features, or has True or False for each by name; got {shown(given)}"
        )
    return found


def _flags(values: Iterable[Any]) -> bool:
    # a mask of a tensor or a table may hold 0.0 and 1.0, and whole numbers are indices
    kinds = bool | np.bool_ | float | np.floating
    return all(isinstance(one, kinds) and one in {0, 1} for one in values)


_Box = tuple[FloatArray, FloatArray]


@lru_cache(maxsize=64)  # pictures and tables ask about each feature
def still_features(
    inputs: Inputs, radii: tuple[float, ...], x: tuple[float, ...]
) -> tuple[int, ...]:
    """Return the features that have the value of ``x`` all over its ball, ascending.

    ``radii`` has one for each feature, ``x`` one number for each coordinate.
    """
    reach, values = radii_of_coordinates(inputs, radii), np.array(x, dtype=np.float64)
    least, most = ends_around(inputs, values, radii)
    stuck = (reach == 0) | (least == most)
    lower = np.maximum(np.nextafter(values - reach, -np.inf), least)
    upper = np.minimum(np.nextafter(values + reach, np.inf), most)
    lower, upper = np.where(stuck, values, lower), np.where(stuck, values, upper)
    boxes: list[_Box] = []
    owners: list[int] = []
    found = [f for f, group in enumerate(inputs.groups) if stuck[group].all()]
    if inputs.rules and np.isfinite([lower, upper]).all():
        for number, (feature, group) in enumerate(zip(inputs.features, inputs.groups, strict=True)):
            if feature.whole and number not in found:
                others = [*_others(feature, group, values, (lower, upper))]
                boxes += others
                owners += [number] * len(others)
    if boxes and inputs.mixed is not None:
        ends = np.array([low for low, _ in boxes]), np.array([high for _, high in boxes])
        possible = inputs.mixed.cut(*ends)[2]
        moving = {owner for owner, can in zip(owners, possible, strict=True) if can}
        found += [owner for owner in {*owners} if owner not in moving]
    return tuple(sorted(found))


def _others(feature: Feature, group: IntArray, x: FloatArray, box: _Box) -> Iterator[_Box]:
    """Yield boxes that hold all points of ``box`` with another value of one whole feature."""
    own, low, high = x[group], box[0][group], box[1][group]
    ends: list[tuple[Any, Any]] = [(low, own - 1), (own + 1, high)]
    if feature.unordered:
        values = np.eye(own.size) if feature.one_hot else np.array(feature.codes)[:, None]
        ends = [(value, value) for value in values if not np.array_equal(value, own)]
    for least, most in ends:
        if np.all(least <= most):
            lower, upper = box[0].copy(), box[1].copy()
            lower[group], upper[group] = least, most
            yield lower, upper


Epsilon: TypeAlias = float | str | Mapping[str, float | str] | Sequence[float | str] | NDArray[Any]
"""A radius, as in the table of this module; a number, alone or by name, without a description."""

_RELATIVE = re.compile(r"\s*([0-9]*\.?[0-9]+)\s*(%|sd)\s*")


def radii_of(inputs: Inputs, epsilon: Epsilon, what: str = "epsilon") -> tuple[float, ...]:
    """Return the radius of each feature, in its unit; ``InputError`` for one that is none.

    ``what`` is the name of the argument.
    """
    labels = Labels(inputs.names, len(inputs.features), inputs.unread)
    epsilon = values_by_label(epsilon, labels, what)
    if isinstance(epsilon, np.ndarray) and not epsilon.ndim:
        epsilon = epsilon.item()
    if isinstance(epsilon, (Sequence, np.ndarray)) and not isinstance(epsilon, str):
        # an array of the input's shape has one for each coordinate
        given = epsilon.reshape(-1).tolist() if isinstance(epsilon, np.ndarray) else [*epsilon]
        if len(given) != len(inputs.features):
            text = "1 radius" if len(given) == 1 else f"{len(given)} radii"
            raise InputError(f"{what} has {text}, but there are {len(inputs.features)} features")
    else:
        given = [epsilon] * len(inputs.features)
    pairs = zip(inputs.features, given, strict=True)
    return tuple(_radius(feature, one, what) for feature, one in pairs)


def radii_of_coordinates(inputs: Inputs, radii: Sequence[float]) -> FloatArray:
    """Return the radius of each coordinate, shape (size,): whole for whole numbers."""
    found = []
    for feature, radius in zip(inputs.features, radii, strict=True):
        reach = radius
        if feature.kind == "fixed":
            reach = 0.0
        elif feature.unordered:
            reach = np.inf if radius >= 1 else 0.0
        elif feature.whole:
            reach = float(np.floor(radius))
        found.append(reach)
    return inputs.of_coordinates(found)


def ends_around(
    inputs: Inputs, x: FloatArray, radii: Sequence[float]
) -> tuple[FloatArray, FloatArray]:
    """Return ends of the domain; finite ``radii`` lead to no missing number, and from none."""
    lower, upper = inputs.lower, inputs.upper
    for feature, group, radius in zip(inputs.features, inputs.groups, radii, strict=True):
        finite = feature.kind == "fixed" or (not feature.unordered and np.isfinite(radius))
        if feature.missing and finite:
            if x[group[0]] > feature.last:
                lower[group] = x[group]
            else:
                upper[group] = feature.last
    return lower, upper


def common_share(inputs: Inputs, radii: Sequence[float]) -> float | None:
    """Return the share of its range that each radius is, at least; None if shares differ.

    Numbers of an array have none. The one with few digits is chosen if rounding alone sets it
    apart: 0.1 for ``"10%"``.
    """
    pairs = [
        (radius, feature.range)
        for feature, radius in zip(inputs.features, radii, strict=True)
        if feature.kind != "fixed" and feature.range > 0
    ]
    if inputs.of_domain or not pairs or not np.isfinite(pairs).all():
        return None
    given, widths = np.array(pairs).T
    shares = given / widths
    rounded = float(f"{shares[0]:.12g}")
    if np.allclose(rounded * widths, given, rtol=1e-15, atol=0.0):
        return rounded
    return float(shares.min()) if np.allclose(shares, shares[0], rtol=1e-9, atol=0.0) else None


def _radius(feature: Feature, given: object, what: str) -> float:
    if isinstance(given, str) and (match := _RELATIVE.fullmatch(given)):
        return _relative(feature, given, match)
    try:
        radius = number_in(given)  # type: ignore[arg-type]
    except InputError as error:
        refuse_file(given, what)
        raise InputError(
            f"{feature.name}: {what} is {shown(given)}, expected a number such as 0.5 or 'inf', or "
            "a relative radius such as '10%' or '0.5sd'; the radius 0 holds a feature"
        ) from error
    if not radius >= 0:
        raise InputError(f"{feature.name}: {what} must be a number and not negative, got {given}")
    return radius


def radius_in_text(text: str) -> float | str:
    """Return the number in a text; a relative radius, or another text, in one spelling."""
    if match := _RELATIVE.fullmatch(text):
        return f"{Fraction(match[1])}{match[2]}"
    try:
        return number_in(text)
    except InputError:
        return text


def _relative(feature: Feature, given: str, match: re.Match[str]) -> float:
    """Return the radius that a share of the range, or a number of standard deviations, is."""
    if feature.kind == "fixed":
        return 0.0
    if match[2] == "sd":
        if feature.deviation is not None:
            return float(Fraction(match[1]) * Fraction(feature.deviation))
        why = (
            "it has words: give it a radius of its own, by name"
            if feature.values
            else "give its deviation, as Inputs.from_frame does, or a number"
        )
        raise InputError(
            f"{feature.name} has no standard deviation that {given!r} could be a multiple of; {why}"
        )
    if not np.isfinite(feature.range):
        raise InputError(
            f"{feature.name} has no finite range that {given!r} could be a share of: give "
            "lower and upper, or a number"
        )
    return float(Fraction(match[1]) / 100 * Fraction(feature.range))
