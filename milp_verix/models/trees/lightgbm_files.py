"""Files of LightGBM, checked before the library loads them.

The library trusts what stands in a file: a child that is no node, or a list of parameters that is
cut off, can end the process. It gets the trees, and of what stands behind them the columns and
words of categories alone.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from milp_verix.base.errors import UnsupportedOperatorError
from milp_verix.models.trees.branching import reached
from milp_verix.models.trees.readers import MOST, refusing_damage, require, text_of

_EACH_INNER = ("split_feature", "threshold", "decision_type", "left_child", "right_child")
_WITH_EACH_INNER = ("split_gain", "internal_value", "internal_weight", "internal_count")
_WITH_EACH_LEAF = ("leaf_weight", "leaf_count")
_EACH_LEAF = ("leaf_value",)
_SETS = ("cat_boundaries", "cat_threshold")
_REAL = (
    *("threshold", "split_gain", "internal_value", "internal_weight"),
    *("leaf_value", "leaf_weight"),
)
_MISSING_ENDS = 12
"""Two bits of a decision's type, and missing values that are none, zeros or NaN."""
_FACTS = (
    *("version", "num_class", "num_tree_per_iteration", "label_index", "max_feature_idx"),
    *("objective", "average_output", "feature_names", "feature_infos"),
)
"""Lines of a header that the library gets."""
_BARE = ("", "tree", "average_output", "feature_names", "feature_infos")
"""Lines of a header without a value, and facts that may be empty."""
_COLUMNS = re.compile(r"^\[categorical_feature: [\d,]*\]$", re.MULTILINE)


def whole(content: bytes, path: Path | None) -> str:
    """Return the text that the library loads: a file's, whatever its encoding and line ends are.

    Raises ``ModelError`` unless its trees are trees, and its lists fit together.
    """
    with refusing_damage("LightGBM", path):
        lines = text_of(content).replace("\r\n", "\n").replace("\r", "\n").split("\n")
        text = "\n".join(line.strip(" \t") for line in lines)
        trees, end, behind = text.partition("\nend of trees\n")
        header, *parts = trees.split("\nTree=")
        cut = "\nparameters:" in behind and "\nend of parameters" not in behind
        require(bool(end) and not cut, "its end is missing")
        facts = fields_of(header.split("\n"))
        _require_header(facts, len(parts))
        last = int(facts["max_feature_idx"])
        read_trees = [
            _tree(fields_of(part.split("\n")), part, place, last)
            for place, part in enumerate(parts)
        ]
        words = _words(behind)
    # without sizes the library reads one tree after the other, and its errors reach Python
    known = [
        name if name == "average_output" else f"{name}={facts[name]}"
        for name in _FACTS
        if name in facts
    ]
    lines = ["tree", *known, "", *read_trees, "end of trees", "", "parameters:"]
    return "\n".join([*lines, *_COLUMNS.findall(behind), "end of parameters", "", words, ""])


def fields_of(lines: Sequence[str]) -> dict[str, str]:
    """Return the values by their keys; a line without a value is a key alone."""
    pairs = (line.partition("=") for line in lines)
    return {key: value for key, _, value in pairs}


def numbers_of(fields: Mapping[str, str], key: str, kind: type) -> Any:
    """Return the numbers behind a key, none where it is missing. Raises ``ValueError``."""
    return np.array(fields.get(key, "").split(), dtype=kind)


def require_constant_leaves(fields: Mapping[str, str]) -> None:
    """Raise ``UnsupportedOperatorError`` for a tree with linear models in its leaves."""
    if fields.get("is_linear", "0") != "0":
        raise UnsupportedOperatorError(
            "the LightGBM model has linear models in its leaves, which cannot be read: fit it with "
            "linear_tree=False"
        )


def _require_header(facts: Mapping[str, str], trees: int) -> None:
    bare = [one for one, value in facts.items() if not value and one not in _BARE]
    require(not bare, f"a line of its header is no fact: {bare[:1]}")
    features = int(facts["max_feature_idx"]) + 1
    each, classes = int(facts["num_tree_per_iteration"]), int(facts["num_class"])
    require(all(0 < one <= MOST for one in (features, each, classes)), "its sizes are odd")
    # the library writes as many scores as its objective says where there is room for classes
    settings = [one for one in facts.get("objective", "").split() if one.startswith("num_class:")]
    require({*settings} <= {f"num_class:{classes}"} and each == classes, "its classes are odd")
    require(trees % each == 0, f"it has {trees} trees, and {each} for each round")
    for name in ("feature_names", "feature_infos"):
        found = len(facts[name].split())
        require(found == features, f"it has {found} {name} of {features} features")


def _tree(fields: Mapping[str, str], text: str, place: int, last_feature: int) -> str:
    """Return the text of a tree that the library gets, written from the numbers read here."""
    words = f"tree {place}"
    require_constant_leaves(fields)
    require(text.startswith(f"{place}\n"), f"{words} has another number")
    leaves, sets = int(fields["num_leaves"]), int(fields.get("num_cat", "0"))
    read = {name: numbers_of(fields, name, _kind(name)) for name in (*_EACH_INNER, *_EACH_LEAF)}
    others = (*_WITH_EACH_INNER, *_WITH_EACH_LEAF, *_SETS)
    read |= {name: numbers_of(fields, name, _kind(name)) for name in others if name in fields}
    for name, found in read.items():
        size = leaves if name in _EACH_LEAF or name in _WITH_EACH_LEAF else leaves - 1
        fits = found.size == size or (leaves == 1 and name != "leaf_value") or name in _SETS
        require(fits, f"{words} has {found.size} {name}, not {size}")
        low, high = (0, 2**32) if name == "cat_threshold" else (-(2**31), 2**31)
        inside = found.dtype.kind == "f" or bool(((found >= low) & (found < high)).all())
        require(inside, f"{words} has odd {name}")
    require(leaves >= 1, f"{words} has no leaves")
    require(bool(np.isfinite(read["leaf_value"]).all()), f"{words} has a value that is no number")
    if leaves > 1:
        _require_splits(read, leaves, sets, place, last_feature)
    shrinkage = float(fields.get("shrinkage", "1"))
    require(np.isfinite(shrinkage), f"{words} has a shrinkage that is no number")
    lists = [f"{name}={' '.join(map(repr, found.tolist()))}" for name, found in read.items()]
    facts = [f"num_leaves={leaves}", f"num_cat={sets}", *lists, "is_linear=0"]
    return "\n".join([f"Tree={place}", *facts, f"shrinkage={shrinkage!r}", "", ""])


def _require_splits(
    read: Mapping[str, Any], leaves: int, sets: int, place: int, last_feature: int
) -> None:
    text = f"tree {place}"
    children = read["left_child"], read["right_child"]
    # a leaf's number is negative: another may be that of a leaf below, and is no node
    require(all((one < leaves - 1).all() for one in children), f"{text} has a child that is none")
    left, right = (
        np.append(np.where(one < 0, leaves - 2 - one, one), np.full(leaves, -1)) for one in children
    )
    nodes = reached(left, right, np.array([2 * leaves - 1]), place)
    require(nodes.size == 2 * leaves - 1, f"{text} has nodes that are nowhere")
    features, limits, kinds = read["split_feature"], read["threshold"], read["decision_type"]
    require(bool(((features >= 0) & (features <= last_feature)).all()), f"{text} has odd features")
    require(not np.isnan(limits).any(), f"{text} has a threshold that is no number")
    require(bool(((kinds >= 0) & (kinds < _MISSING_ENDS)).all()), f"{text} has odd decision_type")
    bounds, words = (read.get(name, np.empty(0)) for name in _SETS)
    chosen = limits[kinds & 1 > 0]
    known = bool(((chosen >= 0) & (chosen < sets) & (chosen == np.floor(chosen))).all())
    rising = not sets or (
        bounds.size == sets + 1
        and bounds[0] == 0
        and bounds[-1] == words.size
        and bool((np.diff(bounds) > 0).all())
    )
    require(known and rising, f"{text} has sets of categories that are none")


def _kind(name: str) -> type:
    return np.float64 if name in _REAL else np.int64


def _words(behind: str) -> str:
    """Return the line of pandas' categories, lists of words for each column, empty if none."""
    line = next((one for one in behind.split("\n") if one.startswith("pandas_categorical:")), "")
    known = json.loads(line.partition(":")[2]) if line else None
    good = known is None or (isinstance(known, list) and all(isinstance(k, list) for k in known))
    require(good, "its pandas_categorical are no lists")
    return line
