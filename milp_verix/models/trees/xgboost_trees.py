"""Models of XGBoost: a row goes left where ``float32(x) < threshold``.

The trees are those of the library's own JSON, whose numbers are float32 and are written so that
they are read back exactly. A leaf's value counts for one class, times the tree's weight in DART.
The library adds values in float32.

A node with categories sends their codes right, and all others left; a code is the whole part of
``float32(x)``.

The library trusts what stands in a file, JSON or UBJSON: a child that is no node, or a length that
goes beyond the end, can end the process. So files are checked first, and it gets JSON that is
written again from what was read, since it refuses 1 for a real number, as jq and JavaScript write.
"""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from struct import Struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.errors import InputError, ModelError, UnsupportedOperatorError, refusing
from milp_verix.inputs.fitted import not_fitted
from milp_verix.models.loaded_model import BEFORE_LINK, IN_MEMORY
from milp_verix.models.trees import branching, readers
from milp_verix.models.trees.branching import Branching, Sides
from milp_verix.models.trees.readers import Link, ReadTrees, require
from verix_encodings.arrays import BoolArray, FloatArray, IntArray

_LINKED = 1e-6
"""A distance of scores, from which on a float32 sigmoid or softmax tells them apart."""
_LINKS: dict[str, Link] = {
    "binary:logistic": "sigmoid",
    "reg:logistic": "sigmoid",
    "binary:hinge": "identity",
    "multi:softprob": "softmax",
    "multi:softmax": "identity",
}
"""Objectives whose predictions turn where scores pass zero, or another score."""
_IDENTITIES = (
    *("binary:logitraw", "reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror"),
    "reg:quantileerror",
)
"""Objectives whose predictions are the scores."""


def read(source: Any) -> ReadTrees:
    """Read a fitted ``XGBClassifier``, ``XGBRegressor`` or other wrapper, a ``Booster``, or a file.

    A file of a wrapper is read as the wrapper reads it, with the best iteration alone.

    Raises ``UnsupportedOperatorError`` for a linear booster, for trees with vectors in leaves, and
    for a wrapper in which a number other than NaN stands for missing values; ``InputError`` for a
    model that is not fitted, and if XGBoost is not installed; ``ModelError`` for a damaged file.
    """
    xgboost = readers.package("xgboost", "XGBoost")
    path, (content, sha256) = readers.path_of(source), readers.content_of(source)
    model = source if content is None else _loaded(content, path, xgboost)
    wrapped = not isinstance(model, xgboost.Booster)
    booster = _booster_of(model, xgboost) if wrapped else model
    learner = json.loads(booster.save_raw("json"))["learner"]
    runner = _runner(model, learner, wrapped)
    trees, groups, weights = _trees(learner)
    parameters = learner["learner_model_param"]
    size = int(parameters["num_feature"])
    outputs = max(int(parameters["num_class"]), int(parameters.get("num_target", 1)), 1)
    count = _trees_used(model, learner, len(trees)) if wrapped else len(trees)
    stored = _branchings(trees[:count], groups[:count], weights[:count])
    read_trees = tuple(tree.as_thresholds() for tree in stored)
    base, words = _base(learner, size, outputs, xgboost), _words(learner)
    untold = {_NO_WORDS for text in words.values() if not text}
    if not np.isfinite(base).all():
        raise ModelError(f"the XGBoost model's base_score is {base.tolist()}, no finite number")
    # DART may add the base to each tree's value and take it off again
    reach = np.abs(base) * (1.0 + np.abs(weights).sum()) + branching.largest_values(
        read_trees, outputs
    )
    return ReadTrees(
        trees=read_trees,
        base=base - runner.turn,
        inputs=size,
        rounding=branching.single_precision(count + 4) * (reach + runner.turn) + _LINKED,
        runner=runner,
        facts=readers.facts_on(model, runner.classifies, (*_notes(runner), *untold)),
        library=f"XGBoost {xgboost.__version__}",
        link=runner.link,
        columns=tuple(booster.feature_names) if booster.feature_names else None,
        path=path,
        sha256=sha256,
        stored=stored,
        words=words,
        sparse_zeros_missing=True,
    )


@dataclass(frozen=True, slots=True)
class XgboostRunner:
    """A model, run by its ``predict``; ``turn`` is what a classifier compares a bare score with."""

    model: Any
    objective: str
    wrapped: bool
    classifies: bool
    turn: float

    @property
    def link(self) -> Link:
        return _LINKS.get(self.objective, "identity") if self.classifies else "identity"

    def outputs(self, rows: FloatArray) -> NDArray[np.floating]:
        scores = self.link == "identity"
        if self.wrapped and not scores:
            found = self.model.predict_proba(rows)
            return np.asarray(found[:, 1] if self.link == "sigmoid" else found)
        if self.wrapped:
            found = self.model.predict(rows, output_margin=True)
        else:
            found = self.model.predict(self._matrix(rows), output_margin=scores)
        return np.asarray(found - np.float32(self.turn))

    def sums(self, rows: FloatArray) -> NDArray[np.floating]:
        given = rows if self.wrapped else self._matrix(rows)
        return np.asarray(self.model.predict(given, output_margin=True))

    def classes(self, rows: FloatArray) -> IntArray | None:
        """Return the classes that ``predict`` gives; those of a ``Booster`` by its numbers."""
        if not self.classifies:
            return None
        found = np.asarray(self.model.predict(rows if self.wrapped else self._matrix(rows)))
        if not self.wrapped and self.objective == "multi:softprob":
            found = found.argmax(axis=1)
        elif not self.wrapped and self.link == "sigmoid":
            found = found > 0.5
        return found.astype(np.intp)

    def _matrix(self, rows: FloatArray) -> Any:
        import xgboost

        return xgboost.DMatrix(
            getattr(rows, "to_numpy", lambda: rows)(),
            feature_names=self.model.feature_names,
            feature_types=self.model.feature_types,
            enable_categorical=True,
        )


def _loaded(content: bytes, path: Any, xgboost: Any) -> Any:
    """Return the model in a file: a wrapper if a wrapper has written it, else a ``Booster``."""
    content, kind = whole(content, path)
    errors = xgboost.core.XGBoostError, ValueError, TypeError, AttributeError
    where = f"XGBoost cannot read {path or IN_MEMORY}"
    with refusing(where, *errors, kind=ModelError, brief=True):
        model = getattr(xgboost, _WRAPPERS.get(kind, "Booster"))()
        model.load_model(bytearray(content))
    return model


_WRAPPERS = {"classifier": "XGBClassifier", "regressor": "XGBRegressor", "ranker": "XGBRanker"}


def _booster_of(model: Any, xgboost: Any) -> Any:
    if not np.isnan(model.missing):
        raise UnsupportedOperatorError(
            f"the {type(model).__name__} takes {model.missing} for a missing value: replace it by "
            "NaN in the data, and fit with missing=nan"
        )
    try:
        return model.get_booster()
    except (xgboost.core.XGBoostError, ValueError) as error:  # sklearn's NotFittedError is one
        raise not_fitted(model) from error


def _runner(model: Any, learner: Mapping[str, Any], wrapped: bool) -> XgboostRunner:
    """Return what runs the model. Raises ``UnsupportedOperatorError`` for labels of no class."""
    objective = str(learner["objective"]["name"])
    if not hasattr(model, "n_classes_"):
        regressor = wrapped
        return XgboostRunner(model, objective, wrapped, objective in _LINKS and not regressor, 0.0)
    if int(learner["learner_model_param"].get("num_target", 1)) > 1:
        raise InputError("the model gives a row several labels at once: fit one for each label")
    if objective not in (*_LINKS, *_IDENTITIES):
        raise UnsupportedOperatorError(
            f"the {type(model).__name__} has the objective {objective!r}, whose predictions are no "
            "classes: fit it with 'binary:logistic' or 'multi:softprob'"
        )
    half = objective not in _LINKS and int(model.n_classes_) == 2
    return XgboostRunner(model, objective, wrapped, True, 0.5 if half else 0.0)


def _notes(runner: XgboostRunner) -> tuple[str, ...]:
    notes = []
    if callable(getattr(runner.model, "objective", None)):
        notes.append(
            f"it was trained with the user's own objective; predict uses that of {runner.objective}"
        )
    linked = runner.objective in _LINKS and not runner.classifies
    if linked or runner.objective not in (*_LINKS, *_IDENTITIES):
        notes.append(f"{BEFORE_LINK}{runner.objective}")
    if runner.turn:
        notes.append("predict compares the raw score with 1/2: the score here is less by 1/2")
    return tuple(notes)


def _trees(learner: Mapping[str, Any]) -> tuple[list[Any], list[int], FloatArray]:
    """Return the trees, the score that each counts for, and its weight."""
    booster = booster_in(learner)
    model = booster["gbtree"]["model"] if booster["name"] == "dart" else booster["model"]
    trees = model["trees"]
    refuse_vectors(trees)
    # beside the trees from 3.4 on, where any booster may drop trees
    dropped = booster.get("weight_drop") or model.get("weight_drop") or np.ones(len(trees))
    weights = np.asarray(dropped, dtype=np.float32)
    return trees, model["tree_info"], weights.astype(np.float64)


def _trees_used(model: Any, learner: Mapping[str, Any], count: int) -> int:
    """Return the number of trees up to the best iteration of early stopping, if there was one."""
    try:
        rounds = int(model.best_iteration) + 1
    except AttributeError:
        return count
    booster = learner["gradient_booster"]
    ends = booster.get("gbtree", booster)["model"]["iteration_indptr"]
    return int(ends[min(rounds, len(ends) - 1)])


def _branchings(
    trees: Sequence[Mapping[str, Any]], groups: Sequence[int], weights: FloatArray
) -> tuple[Branching, ...]:
    sizes = [len(tree["left_children"]) for tree in trees]
    left = np.array(joined(trees, "left_children"), dtype=np.int64)
    inner = left >= 0
    conditions = np.array(joined(trees, "split_conditions"), dtype=np.float32)
    values = np.where(inner, 0.0, conditions.astype(np.float64) * np.repeat(weights, sizes))
    arrays = (
        np.where(inner, np.array(joined(trees, "split_indices"), dtype=np.int64), -1),
        np.where(inner, branching.last_left(conditions, strict=True), 0.0),
        left,
        np.array(joined(trees, "right_children"), dtype=np.int64),
        values[:, None],
        np.array(joined(trees, "default_left"), dtype=bool) & inner,
    )
    each = zip(*(np.split(array, np.cumsum(sizes)[:-1]) for array in arrays), strict=True)
    return tuple(
        Branching(f, t, l, r, v, slice(group, group + 1), missing_left=missing, sides=_sides(tree))
        for (f, t, l, r, v, missing), tree, group in zip(each, trees, groups, strict=False)
    )


def _sides(tree: Mapping[str, Any]) -> dict[int, Sides]:
    """Return the nodes of ``tree`` that decide by categories."""
    codes, found = np.asarray(tree["categories"], dtype=np.int64), {}
    for node, start, size in zip(
        tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"], strict=True
    ):
        chosen = np.unique(codes[start : start + size])
        member = np.zeros(int(chosen[-1]) + 3 if size else 1, dtype=bool)
        member[chosen + 1] = True  # one side before code 0
        ends = branching.last_left(np.arange(len(member) - 1), strict=True)
        found[int(node)] = Sides(ends, ~member)
    return found


_NO_WORDS = (
    "the model does not tell the words of a column, since XGBoost cuts off letters beyond ASCII: "
    "those described were taken for its codes, in their order"
)


def _words(learner: Mapping[str, Any]) -> dict[int, tuple[str, ...]]:
    """Return the words of columns of categories, which XGBoost stores from 3.1 on; () for none."""
    booster, found = learner["gradient_booster"], {}
    model = booster.get("gbtree", booster)["model"]
    for place, column in enumerate(model.get("cats", {}).get("enc", [])):
        values = column["values"]
        if "offsets" not in column:
            found[place] = tuple(map(str, values))
        elif values:
            text, ends = bytes(value % 256 for value in values), pairwise(column["offsets"])
            # XGBoost 3.2 cuts other text off, since it counts characters
            found[place] = tuple(text[a:b].decode() for a, b in ends) if text.isascii() else ()
    return found


def _base(learner: Mapping[str, Any], size: int, outputs: int, xgboost: Any) -> FloatArray:
    """Return the scores of the model with one leaf of 0 for each, as the library computes them."""
    trees = [_leaf_of_zero(number, size) for number in range(outputs)]
    bare_model = {
        "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(outputs)},
        "iteration_indptr": [0, outputs],
        "tree_info": list(range(outputs)),
        "trees": trees,
    }
    bare = {**learner, "gradient_booster": {"name": "gbtree", "model": bare_model}}
    bare["feature_names"] = bare["feature_types"] = []
    version = [int(part) for part in xgboost.__version__.split(".")[:3]]
    booster = xgboost.Booster()
    booster.load_model(bytearray(json.dumps({"learner": bare, "version": version}).encode()))
    scores = booster.predict(xgboost.DMatrix(np.zeros((1, size))), output_margin=True)
    found: FloatArray = np.asarray(scores, dtype=np.float64).reshape(-1)
    return found


def _leaf_of_zero(number: int, size: int) -> dict[str, Any]:
    one = ("base_weights", "split_conditions", "loss_changes", "sum_hessian")
    return {
        **{name: [0.0] for name in one},
        **{name: [] for name in ("categories", "categories_nodes")},
        **{name: [] for name in ("categories_segments", "categories_sizes")},
        **{name: [0] for name in ("default_left", "split_indices", "split_type")},
        **{name: [-1] for name in ("left_children", "right_children")},
        "parents": [2**31 - 1],
        "id": number,
        "tree_param": {
            "num_deleted": "0",
            "num_feature": str(size),
            "num_nodes": "1",
            "size_leaf_vector": "1",
        },
    }


_JSON = re.compile(rb'\s*\{\s*"')
_ROOT = 2**31 - 1
"""The library writes it for the parent of a root."""
_EACH_NODE = (
    *("base_weights", "default_left", "left_children", "right_children", "parents"),
    *("split_conditions", "split_indices", "split_type", "loss_changes", "sum_hessian"),
)
_SETS = ("categories", "categories_nodes", "categories_segments", "categories_sizes")
_PLACES = ("left_children", "right_children", "parents", "split_indices")
_ALL = slice(None)
_REALS = ("base_weights", "split_conditions", "loss_changes", "sum_hessian", "weight_drop")
_NUMBERS = {kind: Struct(f">{letter}") for kind, letter in zip(b"iUIlLdD", "bBhiqfd", strict=True)}
_WORDS = {b"T": True, b"F": False, b"Z": None}


def whole(content: bytes, path: Path | None) -> tuple[bytes, Any]:
    """Return a file as the library reads it, and the kind of the wrapper that wrote it, if any.

    Raises ``ModelError`` unless its trees are trees, and its arrays fit together.
    """
    with suppress(ValueError):
        if _JSON.match(text := readers.text_of(content).lstrip().encode()):
            content = text
    with readers.refusing_damage("XGBoost", path):
        written = _JSON.match(content) is not None
        if written:
            document = json.loads(content, object_hook=_with_reals)
        else:
            document, end = _unpacked(content, 0)
            require(end == len(content), "something stands behind its end")
        if isinstance(document, Mapping) and "learner" not in document:
            seen = "begins as a file of XGBoost, in JSON or UBJSON, and has no 'learner'"
            if "schema" in document or "claim" in document:
                kind = "result" if "schema" in document else "certificate"
                seen = f"is a {kind} of milp-verix, expected the model that it is about"
            raise ModelError(
                f"cannot read {path or IN_MEMORY}: it {seen}; give a model that XGBoost's "
                "save_model wrote, or an ONNX model"
            )
        learner = document["learner"]
        _require_learner(learner)
        wrapper = json.loads(learner.get("attributes", {}).get("scikit_learn") or "{}")
        content = json.dumps(document, ensure_ascii=False).encode() if written else content
        return content, wrapper.get("_estimator_type")


def _with_reals(found: dict[str, Any]) -> dict[str, Any]:
    return found | {name: [*map(float, found[name])] for name in _REALS if name in found}


def booster_in(learner: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the booster; ``UnsupportedOperatorError`` for a linear one."""
    booster: Mapping[str, Any] = learner["gradient_booster"]
    if booster["name"] not in ("gbtree", "dart"):
        raise UnsupportedOperatorError(
            f"the XGBoost model has the booster {booster['name']!r}, which has no trees: fit it "
            "with booster='gbtree', or give a linear model of scikit-learn"
        )
    return booster


def refuse_vectors(trees: Sequence[Mapping[str, Any]]) -> None:
    """Raise ``UnsupportedOperatorError`` for trees with several values in a leaf."""
    if any(int(tree["tree_param"].get("size_leaf_vector", 1)) > 1 for tree in trees):
        raise UnsupportedOperatorError(
            "the XGBoost model has a vector in each leaf: fit it with "
            "multi_strategy='one_output_per_tree'"
        )


def _unpacked(data: bytes, at: int) -> tuple[Any, int]:
    """Return the value of UBJSON that begins at ``at``, and where the next one begins."""
    kind, at = data[at : at + 1], at + 1
    if (one := _NUMBERS.get(ord(kind or b" "))) is not None:
        require(at + one.size <= len(data), f"it ends within a number at {at}")
        return one.unpack_from(data, at)[0], at + one.size
    if kind == b"{":
        found = {}
        while data[at : at + 1] != b"}":
            key, at = _text(data, at)
            found[key], at = _unpacked(data, at)
        return found, at + 1
    if kind == b"[" and data[at : at + 1] == b"$":
        require(data[at + 2 : at + 3] == b"#", f"byte {at + 2} is no length")
        require(data[at + 1 : at + 2] != b"D", f"its list at {at} is of float64, not of float32")
        count, begin = _unpacked(data, at + 3)
        return _numbers(data, data[at + 1 : at + 2], begin, count)
    if kind == b"[":
        items = list[Any]()
        counted = data[at : at + 1] == b"#"
        count, at = _unpacked(data, at + 1) if counted else (len(data), at)
        while len(items) < count and (counted or data[at : at + 1] != b"]"):
            item, at = _unpacked(data, at)
            items.append(item)
        return items, at + (not counted)
    if kind == b"S":
        return _text(data, at)
    require(kind in _WORDS, f"byte {at - 1} begins no value")
    return _WORDS[kind], at


def _text(data: bytes, at: int) -> tuple[str, int]:
    count, at = _unpacked(data, at)
    require(isinstance(count, int) and 0 <= count <= len(data) - at, f"a text ends beyond {at}")
    return data[at : at + count].decode(), at + count


def _numbers(data: bytes, kind: bytes, at: int, count: Any) -> tuple[list[Any], int]:
    require(kind[0] in _NUMBERS, f"byte {at - 1} begins no value")
    one = _NUMBERS[kind[0]]
    whole = isinstance(count, int) and 0 <= count * one.size <= len(data) - at
    require(whole, f"it ends within a list at {at}")
    end = at + count * one.size
    return [number for (number,) in one.iter_unpack(data[at:end])], end


def _require_learner(learner: Mapping[str, Any]) -> None:
    parameters = learner["learner_model_param"]
    features, classes, targets = (
        int(parameters.get(name, 1)) for name in ("num_feature", "num_class", "num_target")
    )
    require(
        all(0 <= one <= readers.MOST for one in (features, classes, targets)), "its sizes are odd"
    )
    for name in ("feature_names", "feature_types"):
        require(len(learner.get(name, ())) in (0, features), f"its {name} are too many or too few")
    booster = booster_in(learner)
    model = booster.get("gbtree", booster)["model"]
    trees, groups = model["trees"], _whole(model["tree_info"], "tree_info")
    require(len(groups) == len(trees), "tree_info has not one entry for each tree")
    require(_within(groups, max(classes, targets, 1)), "tree_info names a class that is none")
    count = int(model["gbtree_model_param"]["num_trees"])
    refuse_vectors(trees)
    require(count == len(trees), f"it has {len(trees)} trees, not {count}")
    numbers = sorted(tree.get("id", place) for place, tree in enumerate(trees))
    require(numbers == [*range(count)], "two of its trees have one number")
    rounds = _whole(model.get("iteration_indptr", [0, count]), "iteration_indptr")
    rising = len(rounds) > 0 and rounds[0] == 0 and rounds[-1] == count
    require(rising and bool((np.diff(rounds) >= 0).all()), "its rounds do not hold its trees")
    dropped = booster.get("weight_drop") or model.get("weight_drop")
    require(dropped is None or len(dropped) == count, "it has not one weight for each tree")
    _require_trees(trees, features)


def joined(trees: Sequence[Mapping[str, Any]], name: str) -> list[Any]:
    """Return what the nodes of all trees have by ``name``, one tree after the other."""
    return [*chain.from_iterable(tree[name] for tree in trees)]


def _require_trees(trees: Sequence[Mapping[str, Any]], features: int) -> None:
    for number, tree in enumerate(trees):
        shape = tree["tree_param"]
        size, width = int(shape.get("num_nodes", 1)), int(shape.get("size_leaf_vector", 1))
        odd = [] if size > 0 and width in (0, 1) else [f"{size} nodes, {width} values in a leaf"]
        lists = {name: len(tree[name]) for name in _EACH_NODE if name in tree}
        odd += [f"{found} {name}, not {size}" for name, found in lists.items() if found != size]
        if odd:
            raise ValueError(f"tree {number} has {odd[0]}")
    left, right, parents, columns = (_whole(joined(trees, name), name) for name in _PLACES)
    numbers = np.asarray(joined(trees, "split_conditions"), dtype=np.float64)
    sizes = np.array([len(tree["parents"]) for tree in trees], dtype=np.int64)
    place = np.repeat(np.arange(len(trees)), sizes)

    def each(holds: BoolArray, text: str, nodes: IntArray | slice = _ALL) -> None:
        if not holds.all():
            raise ValueError(f"tree {place[nodes][~holds][0]} {text}")

    each((left >= -1) & ((left < 0) == (right < 0)), "has odd leaves")
    each((parents == _ROOT) | ((parents >= 0) & (parents < sizes[place])), "has odd parents")
    inner = branching.reached(left, right, sizes)
    inner = inner[left[inner] >= 0]
    starts = np.cumsum(sizes) - sizes
    for children in (left, right):
        own = parents[(children + starts[place])[inner]] + starts[place[inner]] == inner
        each(own, "has a node that tells another parent", inner)
    read = columns[inner]
    each((read >= 0) & (read < features), "reads a feature that is none", inner)
    each(np.isfinite(numbers), "has a number that is none")
    for number, tree in enumerate(trees):
        _require_sets(tree, f"tree {number}")


def _require_sets(tree: Mapping[str, Any], text: str) -> None:
    """Raise ``ValueError`` unless the sets of categories are those of the nodes that have some."""
    if "categories" not in tree or not (any(tree["split_type"]) or any(tree[n] for n in _SETS)):
        return
    codes, nodes, starts, sizes = (_whole(tree[name], name) for name in _SETS)
    fits = _within(codes, readers.MOST) and len(nodes) == len(starts) == len(sizes)
    fits = fits and bool((sizes > 0).all()) and _within(starts, max(len(codes), 1))
    fits = fits and bool((starts + sizes <= len(codes)).all()) and bool((np.diff(nodes) > 0).all())
    chosen = np.flatnonzero(_whole(tree["split_type"], "split_type"))
    require(fits and np.array_equal(nodes, chosen), f"{text} has sets of categories that are none")


def _whole(values: Any, name: str) -> IntArray:
    found = np.asarray(values)
    require(found.ndim == 1 and (found.dtype.kind in "iub" or not found.size), f"{name} are odd")
    whole: IntArray = found.astype(np.int64)
    return whole


def _within(values: IntArray, end: int) -> bool:
    return bool(((values >= 0) & (values < end)).all())
