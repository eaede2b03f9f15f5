"""The parts of a stored result that have to agree, so that all that reads it may rely on them."""

import math
from collections.abc import Mapping
from typing import Any


def refuse_contradictions(data: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` where fields of a :class:`Result`, by name, contradict each other."""
    x, groups, inputs = data["input"], data["groups"], data["inputs"]
    count, size = len(groups), x.size
    for fits, told in (
        (size > 0, "the input has no numbers"),
        (x.shape == data["model"].input_shape, "input.shape is not model.input_shape"),
        (str(x.dtype) == data["model"].dtype, "input.dtype is not model.dtype"),
        (_are_parts(groups, size), "each coordinate belongs to one feature, features.groups says"),
        (_has(data["feature_shape"], count), f"features.shape is not that of {count} features"),
        (_has(data["image_shape"], size), f"image_shape is not that of {size} numbers"),
        (_one_each(data["feature_names"], count), "features.names has a name for each feature"),
        (all(_one_each(end, size) for end in data["domain"]), "domain has an end for each number"),
        (data["radii"] is None or isinstance(data["radii"], tuple), "radii is no list"),
        (_one_each(data["radii"], count), "radii has one for each feature"),
        (isinstance(data["prediction"], int) == (data["delta"] is None), "delta is not of a class"),
        (data["prediction"] != (), "prediction has no output"),
        (data["against"] != (), "against names no class"),
        ((inputs is None) == (data["radii"] is None), "inputs and radii belong together"),
        (inputs is None or _fit(inputs, groups), "inputs describes other features"),
    ):  # fmt: skip
        if not fits:
            raise ValueError(told)


def refuse_other_kinds(prediction: Any, found: Any) -> None:
    """Raise ``ValueError`` unless the predictions of all counterfactuals in ``found`` are alike.

    A class stands for one number, outputs of a regression for as many as the ``prediction`` has.
    """
    inner = found.values() if isinstance(found, dict) else found
    for one in inner if isinstance(found, dict | tuple) else [found]:
        point = getattr(one, "counterfactual", one)
        given = getattr(point, "prediction", prediction)
        alike = type(given) is type(prediction)
        if not alike or (isinstance(given, tuple) and len(given) != len(prediction)):
            raise ValueError("a counterfactual's prediction is of another kind than the original's")


def _are_parts(groups: tuple[tuple[int, ...], ...], size: int) -> bool:
    return all(groups) and sorted(i for group in groups for i in group) == [*range(size)]


def _has(shape: tuple[int, ...] | None, count: int) -> bool:
    return shape is None or (bool(shape) and math.prod(shape) == count)


def _one_each(values: Any, count: int) -> bool:
    return not isinstance(values, tuple) or len(values) == count


def _fit(inputs: Any, groups: tuple[tuple[int, ...], ...]) -> bool:
    found: list[list[int]] = inputs.listed
    return found == [[*group] for group in groups]
