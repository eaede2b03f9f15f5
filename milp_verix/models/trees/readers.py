"""The readers of libraries: which of them takes a model, or its file, and what it must tell of it.

No library is imported to find out whose a model is, and no reader either: the names of its classes
tell, or the beginning of its file.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.errors import InputError, ModelError, first_line
from milp_verix.models.loaded_model import IN_MEMORY, KnownFacts, LoadedModel
from verix_encodings.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from milp_verix.models.trees.branching import Branching
    from verix_encodings.kinds.tree import Tree

MOST = 10**7
"""More features, classes or codes than in any table; arrays of so many entries fit in memory."""
_BEGINNING = 64


def path_of(source: Any) -> Path | None:
    """Return the path that ``source`` is, None for anything else."""
    return Path(source) if isinstance(source, str | PathLike) else None


def beginning_of(source: Any) -> bytes:
    """Return the first bytes of a file, or of bytes; none for anything else."""
    if isinstance(source, bytes):
        return source[:_BEGINNING]
    path = path_of(source)
    try:
        if path is None or not path.is_file():
            return b""
        with path.open("rb") as file:
            return file.read(_BEGINNING)
    except (OSError, ValueError):  # whoever reads it tells
        return b""


def text_of(content: bytes) -> str:
    """Return text in UTF-8, 16 or 32, without a byte-order mark; ``ValueError`` for no text."""
    return content.decode(json.detect_encoding(content)).removeprefix("\ufeff")


def content_of(source: Any) -> tuple[bytes | None, str | None]:
    """Return the bytes of a file, and their SHA-256; None for a model in memory."""
    path = path_of(source)
    content = source if isinstance(source, bytes) else None if path is None else path.read_bytes()
    return content, None if content is None else hashlib.sha256(content).hexdigest()


@contextmanager
def refusing_damage(library: str, path: Path | None) -> Iterator[None]:
    """Raise ``ModelError`` in place of what the reader of a damaged file meets."""
    try:
        yield
        return
    except KeyError as error:
        text = f"it has no {error.args[0]!r}"
    except RecursionError:
        text = "its brackets are nested too deep"
    except (ValueError, TypeError, IndexError, AttributeError, OverflowError) as error:
        text = first_line(error)
    text = f"it is truncated or damaged: {text}"
    raise ModelError(f"{library} cannot read {path or IN_MEMORY}: {text}")


def require(holds: bool, text: str) -> None:
    """Raise ``ValueError``, which says ``text``, unless something holds of a file."""
    if not holds:
        raise ValueError(text)


Link: TypeAlias = Literal["identity", "softmax", "sigmoid", "largest"]


class Runner(Protocol):
    """The model as its library runs it; it can be pickled if that can. Rows (n, d) are finite."""

    def outputs(self, rows: FloatArray) -> NDArray[np.floating]:
        """Return the numbers that the library's ``predict`` decides on, shape (n, m), or flat.

        These are scores, votes or probabilities; for a regressor, the predicted values. A
        classifier of two classes has one column or two.
        """

    def sums(self, rows: FloatArray) -> NDArray[np.floating]:
        """Return the sums of trees that are linked to ``outputs``, (n, m), if there is a link."""

    def classes(self, rows: FloatArray) -> IntArray | None:
        """Return the number of the class that ``predict`` gives, (n,); None for a regressor."""


@dataclass(frozen=True, slots=True, eq=False)
class ReadTrees:
    """A model of a library: its trees, and how they lead to a prediction.

    Attributes:
        trees: ``x <= threshold`` in float64 (:func:`~milp_verix.models.trees.branching.last_left`),
            with exact values in leaves; a factor such as a learning rate is multiplied into them,
            and its rounding counted in ``rounding``.
        base: the constant that is added to the sum of leaves, shape (m,).
        inputs: the number of input coordinates ``d``.
        rounding: how far the scores of the library may be from the sums here in real arithmetic,
            shape (m,), in their units. Rounding between the sum and the class is counted, too: two
            scores of a softmax that float32 cannot tell apart. Within it, answers are UNKNOWN. Zero
            where sums are exact, as for votes; then ties are decided by the rule.
        link: how ``outputs`` come from scores ``s / divisor``. After ``softmax``, and for
            ``identity`` with several columns, the class is the first of the largest; a single
            score is compared with 0, after a sigmoid with 1/2. ``largest`` is for a single tree:
            scores are the ranks of the outputs, which may be any numbers in that order.
        divisor: a positive number; 1 for regressors.
        upper_at_tie: True if a single score of exactly 0 is class 1, False if it is class 0.
        stored: the trees as the library stores them, with the ways of missing values and sets of
            categories; none if the file does not tell the ways.
        sparse_zeros_missing: True if a zero that a sparse matrix does not store is missing.
        points: inputs at which trees and library are compared, (k, d); None for thresholds.
        words: for coordinates that hold the codes 0, 1, … of words, these words.
        columns: the names of the input coordinates, None if the model does not tell.
        library: the name and version of the library, for readers.
        before: the network whose output the trees read, None for trees of the input itself.
        blur: how far the library's own numbers may be from that output.
        path, sha256: those of the model's file, None for a model in memory.
    """

    trees: "tuple[Tree, ...]"
    base: FloatArray
    inputs: int
    rounding: FloatArray
    runner: Runner
    facts: KnownFacts
    library: str
    link: Link = "identity"
    divisor: float = 1.0
    upper_at_tie: bool = False
    columns: tuple[str, ...] | None = None
    unread: tuple[str, ...] = ()
    path: Path | None = None
    sha256: str | None = None
    stored: "tuple[Branching, ...]" = ()
    sparse_zeros_missing: bool = False
    points: FloatArray | None = None
    words: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    before: LoadedModel | None = None
    blur: float = 0.0


def ranks_of(values: NDArray[np.floating]) -> FloatArray:
    """Return how many values of its row each value is above, for ``values`` of shape (n, m)."""
    order = np.argsort(values, axis=1)
    ordered, ranks = np.take_along_axis(values, order, axis=1), np.zeros(values.shape)
    above = np.where(ordered[:, 1:] > ordered[:, :-1], np.arange(1, values.shape[1]), 0)
    np.put_along_axis(ranks, order[:, 1:], np.maximum.accumulate(above, axis=1), axis=1)
    return ranks


def package(name: str, called: str) -> Any:
    """Return the package ``name``; ``InputError`` where it is not installed."""
    try:
        return import_module(name)
    except (ImportError, OSError) as error:  # OSError: the library does not find OpenMP
        raise InputError(
            f"a model of {called} needs {called}: pip install 'milp-verix[{name}]'"
        ) from error


def facts_on(model: Any, classifies: bool, notes: tuple[str, ...] = ()) -> KnownFacts:
    """Return the class of a regressor or the names of a classifier's classes, and ``notes``."""
    from milp_verix.inputs.pipeline import fitted_class_names

    names = tuple(fitted_class_names(model)) if classifies else ()
    return KnownFacts(None if classifies else type(model).__name__, names, notes)


def one_row_each(values: Any, rows: int) -> NDArray[np.floating]:
    """Return ``values`` as floats of shape (rows, m)."""
    array = np.asarray(values)
    if array.dtype.kind != "f":
        array = array.astype(np.float64)
    return array.reshape(rows, -1)


SINGLE = {"DecisionTreeClassifier", "DecisionTreeRegressor"}
SINGLE |= {"ExtraTreeClassifier", "ExtraTreeRegressor"}
FORESTS = {"RandomForestClassifier", "RandomForestRegressor"}
FORESTS |= {"ExtraTreesClassifier", "ExtraTreesRegressor"}
BOOSTED = {"GradientBoostingClassifier", "GradientBoostingRegressor"}
HISTOGRAMS = {"HistGradientBoostingClassifier", "HistGradientBoostingRegressor"}
# an ONNX model begins with neither; zeros are those of UTF-16 and UTF-32
_MARK = rb"(?:\xef\xbb\xbf|\0\0\xfe\xff|\xfe\xff|\xff\xfe)?[\s\0]*"
_XGBOOST = re.compile(_MARK + rb"\{")
_LIGHTGBM = re.compile(_MARK + rb"t\0*r\0*e\0*e[\s\0]*[\r\n][\s\0]*v\0*e\0*r\0*s")


def _of_sklearn(source: Any, names: set[str]) -> bool:
    kind = type(source)  # no subclass, which may do otherwise
    return kind.__module__.startswith("sklearn.") and kind.__name__ in names


def _is_of(source: Any, library: str, wrapper: str, mark: re.Pattern[bytes]) -> bool:
    bases = {(base.__module__.split(".")[0], base.__name__) for base in type(source).__mro__}
    return bool(bases & {(library, "Booster"), (library, wrapper)}) or (
        mark.match(beginning_of(source)) is not None
    )


READERS: dict[str, Callable[[Any], bool]] = {
    "sklearn_trees": lambda source: _of_sklearn(source, SINGLE | FORESTS | BOOSTED | HISTOGRAMS),
    "xgboost_trees": lambda source: _is_of(source, "xgboost", "XGBModel", _XGBOOST),
    "lightgbm_trees": lambda source: _is_of(source, "lightgbm", "LGBMModel", _LIGHTGBM),
}
"""For the module of each library, whether a model, or a file of one, is for its ``read``."""


def reader_of(source: Any) -> "Callable[[Any], ReadTrees] | None":
    """Return the reader of the trees ``source``; None if it is no model of trees."""
    for name, takes in READERS.items():
        if takes(source):
            reader: Callable[[Any], ReadTrees]
            reader = import_module(f"milp_verix.models.trees.{name}").read
            return reader
    return None


def ends_in_trees(source: Any) -> bool:
    """Return whether ``source`` is trees, or a pipeline or a search that ends in trees."""
    last = source
    if not isinstance(source, str | PathLike | bytes):
        from milp_verix.inputs.fitted import steps_of, without_search

        last = steps_of(without_search(source)[0])[-1]
    return any(takes(last) for takes in READERS.values())
