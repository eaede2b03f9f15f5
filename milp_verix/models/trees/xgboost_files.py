"""Files of XGBoost, JSON or UBJSON, checked before the library loads them.

The library trusts what stands in a file: a child that is no node, or a length that goes beyond the
end, can end the process. It gets JSON that is written again from what was read, since it refuses 1
for a real number, as jq and JavaScript write it.
"""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from milp_verix.base.errors import ModelError, UnsupportedOperatorError
from milp_verix.models.loaded_model import IN_MEMORY
from milp_verix.models.trees.branching import reached
from milp_verix.models.trees.readers import MOST, refusing_damage, require, text_of
from verix_encodings.arrays import IntArray

_JSON = re.compile(rb'\s*\{\s*"')
_ROOT = 2**31 - 1
"""The library writes it for the parent of a root."""
_EACH_NODE = (
    *("base_weights", "default_left", "left_children", "right_children", "parents"),
    *("split_conditions", "split_indices", "split_type", "loss_changes", "sum_hessian"),
)
_REALS = ("base_weights", "split_conditions", "loss_changes", "sum_hessian", "weight_drop")
_NUMBERS = {
    b"i": ">i1",
    b"U": ">u1",
    b"I": ">i2",
    b"l": ">i4",
    b"L": ">i8",
    b"d": ">f4",
    b"D": ">f8",
}
_WORDS = {b"T": True, b"F": False, b"Z": None}


def whole(content: bytes, path: Path | None) -> tuple[bytes, Any]:
    """Return a file as the library reads it, and the kind of the wrapper that wrote it, if any.

    Raises ``ModelError`` unless its trees are trees, and its arrays fit together.
    """
    with suppress(ValueError):
        if _JSON.match(text := text_of(content).lstrip().encode()):
            content = text
    with refusing_damage("XGBoost", path):
        written = _JSON.match(content) is not None
        if written:
            document = json.loads(content, object_hook=_with_reals)
        else:
            document, end = _unpacked(content, 0)
            require(end == len(content), "something stands behind its end")
        if isinstance(document, Mapping) and "learner" not in document:
            raise ModelError(
                f"cannot read {path or IN_MEMORY}: it begins as a file of XGBoost, in JSON or "
                "UBJSON, and has no 'learner'; give a model that XGBoost's save_model wrote, or an "
                "ONNX model"
            )
        learner = document["learner"]
        _require_learner(learner)
        wrapper = json.loads(learner.get("attributes", {}).get("scikit_learn") or "{}")
        content = json.dumps(document, ensure_ascii=False).encode() if written else content
        return content, wrapper.get("_estimator_type")


def _with_reals(found: dict[str, Any]) -> dict[str, Any]:
    return found | {name: [*map(float, found[name])] for name in _REALS if name in found}


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
    if kind in _WORDS:
        return _WORDS[kind], at
    numbers, at = _numbers(data, kind, at, 1)
    return numbers[0], at


def _text(data: bytes, at: int) -> tuple[str, int]:
    count, at = _unpacked(data, at)
    require(isinstance(count, int) and 0 <= count <= len(data) - at, f"a text ends beyond {at}")
    return data[at : at + count].decode(), at + count


def _numbers(data: bytes, kind: bytes, at: int, count: Any) -> tuple[list[Any], int]:
    require(kind in _NUMBERS, f"byte {at - 1} begins no value")
    dtype = np.dtype(_NUMBERS[kind])
    whole = isinstance(count, int) and 0 <= count * dtype.itemsize <= len(data) - at
    require(whole, f"it ends within a list at {at}")
    return np.frombuffer(data, dtype, count, at).tolist(), at + count * dtype.itemsize


def _require_learner(learner: Mapping[str, Any]) -> None:
    parameters = learner["learner_model_param"]
    features, classes, targets = (
        int(parameters.get(name, 1)) for name in ("num_feature", "num_class", "num_target")
    )
    require(all(0 <= one <= MOST for one in (features, classes, targets)), "its sizes are odd")
    for name in ("feature_names", "feature_types"):
        require(len(learner.get(name, ())) in (0, features), f"its {name} are too many or too few")
    booster = learner["gradient_booster"]
    model = booster.get("gbtree", booster).get("model", {})
    if "trees" not in model:
        return
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
    for place, tree in enumerate(trees):
        _require_tree(tree, features, f"tree {place}")


def _require_tree(tree: Mapping[str, Any], features: int, text: str) -> None:
    size, width = (int(tree["tree_param"].get(n, 1)) for n in ("num_nodes", "size_leaf_vector"))
    require(width in (0, 1), f"{text} has {width} values in a leaf")
    for name in _EACH_NODE:
        found = len(tree[name]) if name in tree else size
        require(found == size, f"{text} has {found} {name}, not {size}")
    left, right, parents, columns = (
        _whole(tree[name], name)
        for name in ("left_children", "right_children", "parents", "split_indices")
    )
    require(bool(((left >= -1) & ((left < 0) == (right < 0))).all()), f"{text} has odd leaves")
    require(_within(parents[parents != _ROOT], size), f"{text} has odd parents")
    inner = reached(left, right, text)
    inner = inner[left[inner] >= 0]
    own = all(np.array_equal(parents[children[inner]], inner) for children in (left, right))
    require(own, f"{text} has a node that tells another parent")
    require(_within(columns[inner], features), f"{text} reads a feature that is none")
    numbers = np.asarray(tree["split_conditions"], dtype=np.float64)
    require(bool(np.isfinite(numbers).all()), f"{text} has a number that is none")
    if "categories" not in tree:
        return
    codes, nodes, starts, sizes = (
        _whole(tree[f"categories{name}"], "categories")
        for name in ("", "_nodes", "_segments", "_sizes")
    )
    fits = _within(codes, MOST) and len(nodes) == len(starts) == len(sizes)
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
