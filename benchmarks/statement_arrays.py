"""Cases without a description: arrays of numbers, images, groups, norms, radii of their own."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier
from statement_cases import Case, Column, Predict, Rng, dense, told_classes

_DOMAINS = ((0.0, 1.0), (0.0, 255.0), (-2.5, 3.0), (-1.0, np.inf), (-np.inf, np.inf))
_SHAPES = ((4, 4), (4, 4, 3), (5, 4))


def network_array(rng: Rng, folder: Path) -> Case:
    """Return a case of an ONNX file on a flat array, with names or groups or neither."""
    size, groups = int(rng.integers(4, 7)), None
    names = [f"input {letter}" for letter in "abcdefg"[:size]] if rng.random() < 0.4 else None
    low, high = _drawn_domain(rng, size)
    if names is None and rng.random() < 0.4:
        cut = int(rng.integers(1, size - 1))
        order = rng.permutation(size).tolist()
        groups = [sorted(order[:cut]), *([one] for one in order[cut:])]
        low, high = low[:1].repeat(size), high[:1].repeat(size)
    return _network(rng, folder, [1, size], low, high, groups=groups, names=names)


def network_image(rng: Rng, folder: Path) -> Case:
    """Return a case of an ONNX file on an image: pixels, or each of their values."""
    shape = _SHAPES[rng.integers(len(_SHAPES))]
    size, end = int(np.prod(shape)), float(rng.choice([1, 255]))
    pixels = len(shape) > 2
    order = np.arange(size).reshape(shape)
    groups = [order[place].tolist() for place in np.ndindex(*shape[:2])] if pixels else None
    more: dict[str, Any] = {"image_shape": shape, **({"features": "pixels"} if pixels else {})}
    low, high = np.zeros(size), np.full(size, end)
    places = [*np.ndindex(*(shape[:2] if pixels else shape))]
    axes = ("row", "column", "channel")
    told = [
        " ".join(f"{axis} {n}" for axis, n in zip(axes, place, strict=False)) for place in places
    ]
    short = [f"({','.join(map(str, place))})" for place in places]
    return _network(
        rng, folder, [1, size], low, high, groups=groups, told=told, short=short, more=more
    )


def fitted_array(rng: Rng, folder: Path) -> Case:
    """Return a case of a model of scikit-learn that was fitted on an array."""
    size = int(rng.integers(3, 6))
    low, high = _drawn_domain(rng, size)
    rows = _drawn_rows(rng, low, high).astype(np.float32).astype(np.float64)
    model: Any = [
        DecisionTreeClassifier(max_depth=4, random_state=0),
        RandomForestClassifier(3, max_depth=3, random_state=0),
        MLPClassifier((3,), max_iter=300, random_state=0),
        GradientBoostingRegressor(n_estimators=4, max_depth=2, random_state=0),
    ][rng.integers(4)]
    scaled = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    score = scaled @ rng.normal(size=size)
    labels = [("no", "yes"), (0, 1), ("a", "b", "c")][rng.integers(3)]
    cuts = np.quantile(score, np.linspace(0, 1, len(labels) + 1)[1:-1])
    regression = not hasattr(model, "predict_proba")
    model.fit(rows, score if regression else np.array(labels)[np.searchsorted(cuts, score)])
    columns, frame, array, given = _columns(rows, low, high)
    if regression:
        return Case(columns, frame, model, None, lambda r: model.predict(array(r)), **given)
    classes = told_classes(model.classes_)
    known = [*map(str, model.classes_)]

    def predict(rows: pd.DataFrame) -> NDArray[Any]:
        told = [classes[known.index(str(one))] for one in model.predict(array(rows))]
        return np.array(told, dtype=object)

    def scores(rows: pd.DataFrame) -> NDArray[Any]:
        return np.asarray(model.predict_proba(array(rows)))

    return Case(columns, frame, model, None, predict, classes, scores, **given)


def _network(
    rng: Rng,
    folder: Path,
    shape: list[int],
    low: NDArray[Any],
    high: NDArray[Any],
    *,
    groups: list[list[int]] | None = None,
    names: list[str] | None = None,
    **told: Any,
) -> Case:
    rows = _drawn_rows(rng, low, high).astype(np.float32).astype(np.float64)
    count = int(rng.choice([1, 2, 3]))
    columns, frame, array, given = _columns(rows, low, high, groups=groups, names=names, **told)
    given["single"] = True
    path = folder / "model.onnx"
    onnx.save(dense(rng, rows.astype(np.float32), [4, count], tied=False), path)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])

    def scores(rows: pd.DataFrame) -> NDArray[Any]:
        every = array(rows).astype(np.float32)
        return np.array([session.run(None, {"x": one[None]})[0][0] for one in every])

    if count == 1:
        return Case(
            columns, frame, str(path), None, lambda r: scores(r)[:, 0].astype(np.float64), **given
        )
    classes = tuple(f"class {place}" for place in range(count))

    def predict(rows: pd.DataFrame) -> NDArray[Any]:
        return np.array([classes[one] for one in scores(rows).argmax(axis=1)], dtype=object)

    return Case(columns, frame, str(path), None, predict, classes, scores, **given)


def _columns(
    rows: NDArray[Any],
    low: NDArray[Any],
    high: NDArray[Any],
    *,
    groups: list[list[int]] | None = None,
    names: list[str] | None = None,
    told: list[str] | None = None,
    short: list[str] | None = None,
    more: Mapping[str, Any] | None = None,
) -> tuple[tuple[Column, ...], pd.DataFrame, Predict, dict[str, Any]]:
    """Return columns of an array, its rows as a frame, the way back, and the other fields."""
    size = rows.shape[1]
    every = groups or [[place] for place in range(size)]
    known = told or names or [f"feature {place}" for place in range(len(every))]
    columns = tuple(
        Column(name, "group" if len(one) > 1 else "real", low[one[0]], high[one[0]])
        for name, one in zip(known, every, strict=True)
    )
    frame = pd.DataFrame(
        {
            name: [*map(tuple, rows[:, one].tolist())] if len(one) > 1 else rows[:, one[0]]
            for name, one in zip(known, every, strict=True)
        }
    )

    def array(table: pd.DataFrame) -> NDArray[Any]:
        found = np.empty((len(table), size))
        for name, one in zip(known, every, strict=True):
            part = np.array(table[name].tolist(), dtype=np.float64).reshape(len(table), -1)
            found[:, one] = part
        return found

    ends = [float(end[0]) if (end == end[0]).all() else end for end in (low, high)]
    given: dict[str, Any] = {"domain": tuple(ends), **(more or {})}
    if groups and "features" not in given:
        given["features"] = groups
    if names:
        given["feature_names"] = names
    shown = short or names or [str(place) for place in range(len(every))]
    places = tuple(zip(shown, known, strict=True))
    return columns, frame, array, {"given": given, "array": array, "places": places}


def _drawn_domain(rng: Rng, size: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the ends of each coordinate: the same for all, or each its own."""
    if rng.random() < 0.2:
        low = rng.integers(-5, 1, size).astype(np.float64)
        return low, low + rng.integers(1, 9, size)
    low, high = _DOMAINS[rng.choice(len(_DOMAINS), p=[0.4, 0.2, 0.2, 0.1, 0.1])]
    return np.full(size, low), np.full(size, high)


def _drawn_rows(rng: Rng, low: NDArray[Any], high: NDArray[Any]) -> NDArray[Any]:
    """Return rows in the domain, of which many numbers are at its ends."""
    least, most = np.maximum(low, -4.0), np.where(np.isfinite(high), high, 6.0)
    rows = least + (most - least) * rng.random((60, len(low)))
    ends = rng.random(rows.shape) < 0.15
    return np.where(ends, np.where(rng.random(rows.shape) < 0.5, least, most), rows)
