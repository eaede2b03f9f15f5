"""Models of LightGBM: a row goes left where ``x <= threshold``, in float64.

The trees are those of the library's own text, whose float64 numbers are read back exactly. The
library adds the values in float64; a random forest divides their sum by the number of rounds.

- A number of magnitude 1e-35 (float32) or less counts as zero.
- In a node whose missing values are zeros, zero goes the way of missing values.
- A node with categories sends their codes left, and all others right; a code is the whole part of
  ``x``, so that numbers above -1 and below 1 have the code 0.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from milp_verix.errors import ModelError, UnsupportedOperatorError
from milp_verix.tree_reader.branching import Branching, Sides, as_thresholds
from milp_verix.tree_reader.reading import (
    DOUBLE,
    Reading,
    in_column,
    largest_values,
    quiet,
    sum_rounding,
    words_of,
)
from verix_encodings.arrays import FloatArray

_ZERO = float(np.float32(1e-35))
_BEFORE_ZERO = float(np.nextafter(-_ZERO, -np.inf))
_CATEGORICAL, _DEFAULT_LEFT, _ZERO_IS_MISSING = 1, 2, 1
_WORD = 32
_LINKED = 2.0**-50
"""A distance of scores, times the slope, from which on a float64 sigmoid or softmax tells them."""


def read_lightgbm(model: Any) -> Reading:
    """Read a fitted ``LGBMClassifier``, ``LGBMRegressor`` or ``LGBMRanker``, or a ``Booster``.

    Raises ``UnsupportedOperatorError`` for linear models in leaves.
    """
    wrapped = hasattr(model, "booster_")
    booster = model.booster_ if wrapped else model
    header, *texts = booster.model_to_string().split("\nTree=")
    facts = _fields(header.splitlines())
    outputs = int(facts["num_tree_per_iteration"])
    average = "average_output" in facts
    rounds = len(texts) // outputs if average else 1
    trees = tuple(
        as_thresholds(_branching(_fields(text.splitlines()), place % outputs, outputs, rounds))
        for place, text in enumerate(texts)
    )
    library = _Library(model, booster, facts, rounds)
    magnitude = largest_values(trees) if trees else np.zeros(outputs)
    return Reading(
        trees=trees,
        base=np.zeros(outputs),
        rounding=sum_rounding(magnitude, len(trees) + 4, DOUBLE) + library.linked(magnitude),
        run=library.scores,
        decide=library.classes if library.classifies else None,
        size=int(facts["max_feature_idx"]) + 1,
        class_names=words_of(model.classes_) if hasattr(model, "classes_") else (),
        columns=tuple(booster.feature_name()),
        regressor=None if library.classifies else type(model).__name__,
        notes=library.notes,
        library="LightGBM",
    )


def _fields(lines: Sequence[str]) -> dict[str, str]:
    """Return the values by their keys; a line without a value is a key alone."""
    pairs = (line.partition("=") for line in lines)
    return {key: value for key, _, value in pairs}


def _branching(fields: Mapping[str, str], output: int, outputs: int, rounds: int) -> Branching:
    if fields.get("is_linear", "0") != "0":
        raise UnsupportedOperatorError(
            "the LightGBM model has linear models in its leaves, which cannot be read: fit it with "
            "linear_tree=False"
        )
    leaves = int(fields["num_leaves"])
    inner = leaves - 1
    features = _numbers(fields, "split_feature", np.int64)[:inner]
    kinds = _numbers(fields, "decision_type", np.int64)[:inner]
    thresholds = _numbers(fields, "threshold", np.float64)[:inner]
    values = np.concatenate([np.zeros(inner), _numbers(fields, "leaf_value", np.float64)[:leaves]])
    left, right = (
        np.where(child < 0, inner - child - 1, child)
        for child in (_numbers(fields, f"{side}_child", np.int64)[:inner] for side in _SIDES)
    )
    nowhere = np.full(leaves, -1)
    return Branching(
        feature=np.concatenate([features, nowhere]),
        threshold=np.concatenate([_with_zeros(thresholds), np.zeros(leaves)]),
        left=np.concatenate([left, nowhere]),
        right=np.concatenate([right, nowhere]),
        value=in_column(values / rounds, output, outputs),
        missing_left=np.concatenate([kinds & _DEFAULT_LEFT > 0, np.zeros(leaves, dtype=bool)]),
        sides=_sides(kinds, thresholds, fields),
    )


_SIDES = ("left", "right")


def _numbers(fields: Mapping[str, str], key: str, kind: type) -> Any:
    try:
        return np.array(fields.get(key, "").split(), dtype=kind)
    except ValueError as error:
        raise ModelError(f"the LightGBM model's {key} is damaged: {error}") from error


def _with_zeros(thresholds: FloatArray) -> FloatArray:
    """Return the thresholds of numbers before the least ones became zero."""
    least = np.abs(thresholds) <= _ZERO
    return np.where(least, np.where(thresholds >= 0, _ZERO, _BEFORE_ZERO), thresholds)


def _sides(kinds: Any, thresholds: FloatArray, fields: Mapping[str, str]) -> dict[int, Sides]:
    """Return the nodes that are more than a threshold."""
    bounds = _numbers(fields, "cat_boundaries", np.int64)
    words = _numbers(fields, "cat_threshold", np.int64)
    found = {}
    for node in np.flatnonzero(kinds & _CATEGORICAL):
        place = int(thresholds[node])
        found[int(node)] = _category_sides(words[bounds[place] : bounds[place + 1]])
    for node in np.flatnonzero((kinds & _CATEGORICAL == 0) & (kinds >> 2 == _ZERO_IS_MISSING)):
        threshold, default = float(thresholds[node]), bool(kinds[node] & _DEFAULT_LEFT)
        ends = np.unique([_BEFORE_ZERO, _ZERO, _with_zeros(np.array(threshold))])
        inside = np.concatenate([ends, [np.inf]])
        zero = np.abs(inside) <= _ZERO
        found[int(node)] = Sides(ends, np.where(zero, default, inside <= threshold))
    return found


def _category_sides(words: Any) -> Sides:
    """Return the sides of a set of codes, given as the words of a bit set."""
    bits = (words[:, None] >> np.arange(_WORD)) & 1
    member = np.concatenate([[False], bits.reshape(-1).astype(bool), [False]])
    codes = np.arange(len(member) - 1, dtype=np.float64)
    ends = np.nextafter(codes, -np.inf)
    ends[0] = -1.0  # numbers above it have the code 0
    return Sides(ends, member)


class _Library:
    """What the library itself predicts for rows."""

    def __init__(self, model: Any, booster: Any, facts: Mapping[str, str], rounds: int) -> None:
        self._model, self._booster, self._rounds = model, booster, rounds
        name, *settings = facts.get("objective", "custom").split()
        given = dict(setting.partition(":")[::2] for setting in settings)
        self._slope = float(given.get("sigmoid", 1.0))
        self._apart = name == "multiclassova"
        self.classifies = name in ("binary", "multiclass", "multiclassova")
        linear = name in ("regression", "regression_l1", "huber", "fair", "quantile", "mape")
        told = f"objective {name!r}" if name != "custom" else "custom objective"
        raw = not (self.classifies or (linear and "sqrt" not in settings))
        self.notes = (f"the scores are the raw ones of the {told}, before any link",) * raw

    def linked(self, magnitude: FloatArray) -> FloatArray:
        """Bound the distance of scores whose probabilities may be the same number."""
        flat = np.exp(np.minimum(self._slope * magnitude.max(), 700.0)) if self._apart else 1.0
        return np.full(len(magnitude), _LINKED / self._slope * flat * self.classifies)

    def scores(self, rows: FloatArray) -> FloatArray:
        """Return the raw scores, shape (n, m); raw ones of a random forest are sums."""
        with quiet():
            scores = self._booster.predict(rows, raw_score=True)
        found: FloatArray = np.asarray(scores, dtype=np.float64).reshape(len(rows), -1)
        return found / self._rounds

    def classes(self, rows: FloatArray) -> Any:
        """Return the numbers of the classes that the library predicts, shape (n,)."""
        with quiet():
            found = np.asarray(self._model.predict(rows))
        if hasattr(self._model, "classes_"):
            return np.searchsorted(self._model.classes_, found)
        return found.argmax(axis=1) if found.ndim > 1 else (found > 0.5).astype(np.int64)
