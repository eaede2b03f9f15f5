"""Files of XGBoost, JSON or UBJSON, checked before the library loads them.

The library trusts what stands in a file: a child that is no node, or a length that goes beyond the
end, can end the process. It gets JSON that is written again from what was read, since it refuses 1
for a real number, as jq and JavaScript write it.
"""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from struct import Struct
from typing import Any

import numpy as np

from milp_verix.base.errors import ModelError, UnsupportedOperatorError
from milp_verix.models.loaded_model import IN_MEMORY
from milp_verix.models.trees.branching import reached
from milp_verix.models.trees.readers import MOST, refusing_damage, require, text_of
from verix_encodings.arrays import BoolArray, IntArray

_JSON = re.compile(rb'\s*\{\s*"')
_ROOT = 2**31 - 1
"""The library writes it for the parent of a root."""
_EACH_NODE = (
    *("base_weights", "default_left", "left_children", "right_children", "parents"),
    *("split_conditions", "split_indices", "split_type", "loss_changes", "sum_hessian"),
)
_SETS = ("categories", "categories_nodes", "categories_segments", "categories_sizes")
_LINKS = ("left_children", "right_children", "parents", "split_indices")
_ALL = slice(None)
_REALS = ("base_weights", "split_conditions", "loss_changes", "sum_hessian", "weight_drop")
_NUMBERS = {kind: Struct(f">{letter}") for kind, letter in zip(b"iUIlLdD", "bBhiqfd", strict=True)}
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
    require(all(0 <= one <= MOST for one in (features, classes, targets)), "its sizes are odd")
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
    left, right, parents, columns = (_whole(joined(trees, name), name) for name in _LINKS)
    numbers = np.asarray(joined(trees, "split_conditions"), dtype=np.float64)
    sizes = np.array([len(tree["parents"]) for tree in trees], dtype=np.int64)
    place = np.repeat(np.arange(len(trees)), sizes)

    def each(holds: BoolArray, text: str, nodes: IntArray | slice = _ALL) -> None:
        if not holds.all():
            raise ValueError(f"tree {place[nodes][~holds][0]} {text}")

    each((left >= -1) & ((left < 0) == (right < 0)), "has odd leaves")
    each((parents == _ROOT) | ((parents >= 0) & (parents < sizes[place])), "has odd parents")
    inner = reached(left, right, sizes)
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
