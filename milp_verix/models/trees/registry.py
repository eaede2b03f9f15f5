"""The readers of libraries: which of them takes a model.

No library is imported to find out whose a model is, and no reader either: the names of its classes
tell, or the beginning of its file.
"""

import re
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from milp_verix.inputs.fitted import name_of, steps_of, without_search
from milp_verix.models.trees.model_files import beginning_of

if TYPE_CHECKING:
    from milp_verix.models.trees.read_trees import ReadTrees

SINGLE = {"DecisionTreeClassifier", "DecisionTreeRegressor"}
SINGLE |= {"ExtraTreeClassifier", "ExtraTreeRegressor"}
FORESTS = {"RandomForestClassifier", "RandomForestRegressor"}
FORESTS |= {"ExtraTreesClassifier", "ExtraTreesRegressor"}
BOOSTED = {"GradientBoostingClassifier", "GradientBoostingRegressor"}
_HISTOGRAMS = {"HistGradientBoostingClassifier", "HistGradientBoostingRegressor"}
# an ONNX model begins with neither; zeros are those of UTF-16 and UTF-32
_MARK = rb"(?:\xef\xbb\xbf|\0\0\xfe\xff|\xfe\xff|\xff\xfe)?[\s\0]*"
_XGBOOST = re.compile(_MARK + rb"\{")
_LIGHTGBM = re.compile(_MARK + rb"t\0*r\0*e\0*e[\s\0]*[\r\n][\s\0]*v\0*e\0*r\0*s")


def _of_xgboost(source: Any) -> bool:
    start = beginning_of(source)
    return _has_base(source, "xgboost", "Booster", "XGBModel") or _XGBOOST.match(start) is not None


def _of_lightgbm(source: Any) -> bool:
    start = beginning_of(source)
    return _has_base(source, "lightgbm", "Booster", "LGBMModel") or bool(_LIGHTGBM.match(start))


def _has_base(source: Any, library: str, *names: str) -> bool:
    bases = {(base.__module__.split(".")[0], base.__name__) for base in type(source).__mro__}
    return any((library, name) in bases for name in names)


READERS: dict[str, Callable[[Any], bool]] = {
    "sklearn_trees": lambda source: name_of(source) in SINGLE | FORESTS | BOOSTED,
    "hist_boosting": lambda source: name_of(source) in _HISTOGRAMS,
    "xgboost_trees": _of_xgboost,
    "lightgbm_trees": _of_lightgbm,
}
"""For each module of ``libraries``, whether a model, or a file of one, is for its ``read``."""


def reader_of(source: Any) -> "Callable[[Any], ReadTrees] | None":
    """Return the reader of the trees ``source``; None if it is no model of trees."""
    for name, takes in READERS.items():
        if takes(source):
            reader: Callable[[Any], ReadTrees]
            reader = import_module(f"milp_verix.models.trees.libraries.{name}").read
            return reader
    return None


def ends_in_trees(source: Any) -> bool:
    """Return whether ``source`` is trees, or a pipeline or a search that ends in trees."""
    last = steps_of(without_search(source)[0])[-1]
    return any(takes(last) for takes in READERS.values())
