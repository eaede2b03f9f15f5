"""Trees of a table whose values may be missing: numbers beyond the last one stand for NaN.

A description says of some coordinates that they may be missing. Then each number ``x > last`` of
such a coordinate means NaN: a node sends it where its library sends a missing value, so it is one
more condition of the same kind::

    x ≤ min(t, last): left,   t < x ≤ last: right,   last < x: the side of missing values

and the library is run with NaN in its place. So a missing value is one more value of the domain for
every question, and nothing else knows of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.errors import InputError, ModelError
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.models.trees.behind_table import PipelineRunner, pulled_back, table_points
from milp_verix.models.trees.branching import as_thresholds, with_missing as going_beyond
from milp_verix.models.trees.readers import Runner, reader_of
from milp_verix.models.trees.table_columns import TableColumns
from milp_verix.models.trees.tree_network import TreeNetwork, require_equal, threshold_points
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.kinds.tree import Tree
from verix_encodings.kinds.tree_ensemble import TreeEnsemble
from verix_encodings.network import Network


@dataclass(frozen=True, slots=True)
class MissingRunner:
    """A model that is run with NaN for numbers beyond ``last``, by coordinate."""

    inner: Runner
    last: Mapping[int, float]

    def outputs(self, rows: FloatArray) -> NDArray[np.floating]:
        return self.inner.outputs(self._with_nan(rows))

    def sums(self, rows: FloatArray) -> NDArray[np.floating]:
        return self.inner.sums(self._with_nan(rows))

    def classes(self, rows: FloatArray) -> IntArray | None:
        return self.inner.classes(self._with_nan(rows))

    def _with_nan(self, rows: FloatArray) -> FloatArray:
        found = np.array(rows)
        for place, end in self.last.items():
            found[found[:, place] > end, place] = np.nan
        return found


def with_missing(network: LoadedModel, last: Mapping[int, float]) -> LoadedModel:
    """Return the trees ``network`` with NaN in place of numbers beyond ``last``, by coordinate.

    Raises ``InputError`` for trees that take no missing values; ``ModelError`` where the
    library runs them otherwise than they are read.
    """
    assert isinstance(network, TreeNetwork)
    plain = network.plain or network
    return _with_missing(plain, tuple(sorted(last.items()))) if last else plain


@lru_cache(maxsize=8)  # each problem about a model asks for the same
def _with_missing(network: TreeNetwork, pairs: tuple[tuple[int, float], ...]) -> TreeNetwork:
    last, runner = dict(pairs), MissingRunner(network.runner, dict(pairs))
    trees, points = _read_again(network, last)
    node = TreeEnsemble.of(0, trees, network.ensemble.base, network.ensemble.error)
    found = replace(
        network, ir=Network(network.ir.input_shape, (node,)), runner=runner, plain=network
    )
    rows = threshold_points(node, network.input_size) if points is None else points
    generator = np.random.default_rng(0)
    for place, end in pairs:
        beyond = generator.random(len(rows)) < 1 / 3
        rows[beyond, place] = np.nextafter(end, np.inf)
    try:
        found.outputs(rows)
    except ModelError as error:
        raise InputError(
            f"{network.library} runs this model without missing values alone ({error.__cause__}): "
            "fit it on a table that has some, or leave missing out of the description"
        ) from error
    require_equal(found, rows)
    return found


def _read_again(
    network: TreeNetwork, last: Mapping[int, float]
) -> tuple[tuple[Tree, ...], FloatArray | None]:
    """Return the trees that go on beyond ``last``, and points of the table, if it has steps."""
    behind = network.runner if isinstance(network.runner, PipelineRunner) else None
    model: Any = getattr(network.runner if behind is None else behind.inner, "model", None)
    reader = reader_of(model)
    if reader is None:
        raise InputError(
            "an ONNX file of trees is read without the ways of missing values: load the model of "
            "its own library, or leave missing out of the description"
        )
    read = reader(model)
    if behind is None:
        return tuple(as_thresholds(going_beyond(tree, last)) for tree in read.stored), None
    assert isinstance(behind.columns, TableColumns)  # counts of words are never missing
    trees = pulled_back(read, behind.columns, last)
    return trees, table_points(behind.columns, trees)
