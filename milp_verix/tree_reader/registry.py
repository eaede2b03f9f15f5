"""The readers of libraries: which of them takes a model.

No library is imported to find out whose a model is: the names of its classes tell, or the beginning
of its file.
"""

from collections.abc import Callable
from typing import Any

from milp_verix.tree_reader.libraries import (
    hist_boosting,
    lightgbm_trees,
    sklearn_trees,
    xgboost_trees,
)
from milp_verix.tree_reader.read_trees import ReadTrees

Reader = Callable[[Any], ReadTrees]

READERS: tuple[tuple[Callable[[Any], bool], Reader], ...] = (
    (sklearn_trees.takes, sklearn_trees.read),
    (hist_boosting.takes, hist_boosting.read),
    (xgboost_trees.takes, xgboost_trees.read),
    (lightgbm_trees.takes, lightgbm_trees.read),
)
"""Pairs of a function that tells whether a model is the library's, and its reader."""


def reader_of(source: Any) -> Reader | None:
    """Return the reader of the trees ``source``; None if it is no model of trees."""
    return next((read for takes, read in READERS if takes(source)), None)
