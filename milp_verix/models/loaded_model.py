"""A model that was loaded: what questions ask of networks and of trees alike.

The model in memory that it was read from may be fitted again: questions would be answered for the
old model then, or for a mixture of both.
"""

import io
import pickle
import time
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from milp_verix.base.arguments import BY_NAME, checked, detached, instance_of
from milp_verix.base.errors import InputError, listed, refusing
from milp_verix.base.image_shape import shape_seen
from milp_verix.inputs.frame import is_frame, named_frame
from milp_verix.inputs.inputs import Inputs
from milp_verix.inputs.one_row import in_order, names_for, numbers_in, row_of
from verix_encodings.network import Network

_SHORT, _RARELY = 15_000, 5e-7
"""Characters of boosters that are read each time; seconds for each between reading longer texts."""


class Origin:
    """``models`` in memory that a network was read from, and their state at that time.

    ``again`` reads them again, and columns of words that may be missing if they are named;
    ``content`` is the hash of what was read at that time. A copy of the network in another process
    has no origin.
    """

    def __init__(self, models: Any, again: Callable[..., Any], content: str) -> None:
        self.models, self.again, self._content = models, again, content
        self._state, boosters = _state_of(models)
        self._texts = self._texts_of(boosters)

    def require_unchanged(self, *, wholly: bool = False) -> None:
        """Raise ``InputError`` if the models would be read otherwise by now.

        They are read again if their state has changed, or is unknown. Leaves set in a large booster
        of LightGBM are noticed at once if ``wholly``.
        """
        state, boosters = _state_of(self.models)
        texts, length = self._texts, sum(map(len, self._texts))
        if wholly or length < _SHORT or time.monotonic() - self._read_at > _RARELY * length:
            texts = self._texts_of(boosters)
        if state is not None and (state, texts) == (self._state, self._texts):
            return
        try:
            same = self.again().content_sha256 == self._content
        except Exception:  # whatever a model raises that is no longer what it was
            same = False
        if not same:
            raise InputError(
                "the model was fitted again after load_network or Message.of, or changed in place: "
                "load it again"
            )
        self._state, self._texts = state, texts

    def _texts_of(self, boosters: list[Any]) -> list[str]:
        self._read_at = time.monotonic()
        return [booster.model_to_string() for booster in boosters]

    def __reduce__(self) -> tuple[Any, tuple[()]]:
        return type(None), ()


class _Pickler(pickle.Pickler):
    """Writes functions and classes by their identity: those of a notebook have no other name.

    A booster of LightGBM is written by its identity, too, with what each fit changes, and kept in
    ``boosters``: all of its text takes 4 ms for 100 trees, a fifth of an explanation.
    """

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self.boosters = list[Any]()

    def persistent_id(self, thing: Any) -> Any:
        if isinstance(thing, (type, FunctionType, ModuleType)):
            return id(thing)
        if (type(thing).__module__, type(thing).__name__) != ("lightgbm.basic", "Booster"):
            return None
        self.boosters.append(thing)
        last = thing.current_iteration() - 1
        bounds = thing.lower_bound(), thing.upper_bound()
        return id(thing), thing.num_trees(), bounds, thing.model_to_string(1, last)


def _state_of(models: Any) -> tuple[list[int] | None, list[Any]]:
    """Return checksums of all ``models``, None if unknown, and boosters that they do not cover."""
    arrays, written = list[pickle.PickleBuffer](), io.BytesIO()
    pickler = _Pickler(written, 5, buffer_callback=arrays.append)
    # a model of Keras would be written as a file
    held = [m.get_weights() if hasattr(m, "get_weights") else m for m in models]
    try:
        pickler.dump(held)
    except Exception:  # each class may refuse in its own way
        return None, []
    sums = [zlib.crc32(written.getbuffer()), *(zlib.crc32(array.raw()) for array in arrays)]
    return sums, pickler.boosters


IN_MEMORY = "the model in memory"
"""The name of a model that has no file."""
BEFORE_LINK = "outputs are sums of leaves, before the link of "
"""The beginning of a note on a model whose ``predict`` returns other numbers than its outputs."""


@dataclass(frozen=True, slots=True)
class KnownFacts:
    """Facts on a model that its library knows.

    ``regressor`` is the name of the class of a regressor, None for any other model. ``class_names``
    are the names of a classifier's classes, empty if it has numbers alone. ``notes`` tell
    a reader of a result how the model was read.
    """

    regressor: str | None = None
    class_names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TieRule:
    """A rule of a model for ties: of several classes the first wins.

    A single score at its threshold is class 1 if ``upper``. Scores are exact multiples of ``step``
    where that is above zero, so that a tie can be told from a near one; it is 0 where sums are
    rounded.
    """

    upper: bool
    step: float


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class LoadedModel(ABC):
    """A model that can be reasoned about (``ir``) and run (:meth:`evaluate`).

    ``ir`` computes the scores in real arithmetic, without the final Softmax or Sigmoid that the
    model may have (``softmax_stripped``, ``sigmoid_stripped``). ``path`` is the file's, None for a
    model in memory; ``sha256`` is that of the file, or of the model's content, and
    ``content_sha256`` covers all that the predictions depend on. ``input_shape`` has 1 for the
    batch; ``dtype`` is the type of the input. ``facts`` are what the model's library tells of it;
    ``columns`` are the names of the coordinates, None where the model does not tell; ``unread`` are
    columns of the table that it was fitted on and does not read, ``missing`` the words and numbers
    that were read as ones that may be missing.
    ``file_name`` is the name of the pickle that a model in memory came from, ``origin`` that model.
    """

    path: Path | None
    sha256: str
    content_sha256: str
    ir: Network
    input_shape: tuple[int, ...]
    dtype: np.dtype[np.floating]
    softmax_stripped: bool
    sigmoid_stripped: bool
    facts: KnownFacts
    columns: tuple[str, ...] | None = None
    unread: tuple[str, ...] = ()
    missing: tuple[Any, ...] = ()
    file_name: str | None = None
    origin: Origin | None = None

    @property
    def name(self) -> str:
        """The model's name in a result: its file's name, or a word for a model in memory."""
        return (self.file_name or IN_MEMORY) if self.path is None else self.path.name

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for readers of a result on how the model was read and run."""
        return self.facts.notes

    @property
    def runtime(self) -> dict[str, str]:
        """The name and version of the library that runs the model, where it is no usual package."""
        return {}

    @property
    def tie_rule(self) -> TieRule | None:
        """The model's rule for ties; None where no claim may rest on one."""
        return None

    @property
    def classifies(self) -> bool:
        """True if the model itself says that its outputs are scores of classes."""
        return self.softmax_stripped or self.sigmoid_stripped

    @property
    def rounds_scores(self) -> bool:
        """True if a final Sigmoid over several scores was left out, which rounds large ones."""
        return self.sigmoid_stripped and self.output_size > 1

    @property
    def words(self) -> Mapping[int, tuple[str, ...]]:
        """For coordinates that hold the codes 0, 1, … of words known to the model, these words."""
        return {}

    @property
    def input_size(self) -> int:
        """Number of input coordinates ``d``."""
        return self.ir.input_size

    @property
    def output_size(self) -> int:
        """Number of scores ``m``."""
        return self.ir.output_size

    def require_unchanged(self, *, wholly: bool = False) -> None:
        """Raise ``InputError`` as :meth:`.Origin.require_unchanged` does of a model in memory."""
        if self.origin is not None:
            self.origin.require_unchanged(wholly=wholly)

    def evaluate(self, x: ArrayLike) -> NDArray[np.floating]:
        """Run the model in its own runtime at ``x`` and return its scores, shape (m,).

        ``x`` is taken as by :meth:`as_input`, and raises as there; ``ModelError`` where the runtime
        fails, ``InputError`` for a model in memory that was fitted again. To see that takes longer
        than to run it: :meth:`evaluate_many` looks once for all rows.
        """
        self.require_unchanged(wholly=True)
        return self.outputs_at(x)

    @abstractmethod
    def outputs_at(self, x: ArrayLike) -> NDArray[np.floating]:
        """Return the outputs of :meth:`evaluate`, for questions; ``scores_at`` has ``ir``'s."""

    def scores_at(self, x: ArrayLike) -> NDArray[np.floating]:
        """Return the scores that ``ir`` stands for, shape (m,), as the model's runtime has them.

        Where no output of the runtime tells them, they are those of ``ir``, in float64. Raises as
        :meth:`evaluate` does.
        """
        if self.softmax_stripped or self.sigmoid_stripped:
            return self.ir.evaluate(self.as_input(x))
        return self.outputs_at(x)

    def evaluate_many(self, xs: ArrayLike) -> NDArray[np.floating]:
        """Run the model at each row of ``xs``, shape (n, d), and return the outputs, shape (n, m).

        ``xs`` may be a DataFrame, whose rows are taken as by :meth:`placed`.
        Raises as :meth:`evaluate` does.
        """
        self.require_unchanged(wholly=True)
        table = named_frame(xs).to_dict("records") if is_frame(xs) else as_numbers(xs)
        rows = [self.outputs_at(x) for x in np.atleast_1d(table)]
        return np.stack(rows) if rows else np.empty((0, self.output_size), dtype=self.dtype)

    def as_input(self, x: ArrayLike) -> NDArray[np.floating]:
        """Return ``x`` rounded to ``dtype`` and in ``input_shape``.

        ``x`` is flat with ``d`` entries, or has the input's shape up to dimensions of 1; a flat
        input is taken from an image of one channel as well, row by row, and from a row of a table
        as by :meth:`placed`. Raises ``InputError`` for any other shape.
        """
        row = row_of(x)
        array = as_numbers(x) if row is None else np.array(self.numbers_of(row))
        shape_seen(array.shape, self.input_shape)
        with np.errstate(over="ignore"):  # too large for the dtype is infinite
            return array.astype(self.dtype).reshape(self.input_shape)

    def numbers_of(self, row: Mapping[str, Any]) -> list[float]:
        """Return the numbers of a row of a table as by :meth:`placed`, without the notes."""
        return self.placed(row)[0]

    @checked(row=BY_NAME)
    def placed(self, row: Mapping[str, Any]) -> tuple[list[float], tuple[str, ...]]:
        """Return the numbers of a row of a table, by the names of ``columns``, and notes on these.

        Other names are left out. Without ``columns``, or names in the row, numbers are taken in the
        row's order; so they are if LightGBM numbers the columns, and the row has other names.
        ``InputError`` for a name that is missing, and for a value that is no number.
        """
        try:
            chosen, notes = in_order([*row], self.columns, "the row")
        except InputError as error:
            way = "inputs=Inputs.from_pipeline(pipeline, frame) takes words"
            raise InputError(f"{error} The names are the model's; {way}.") from error
        numbers = numbers_in({name: row[name] for name in chosen})
        self.refuse_words(numbers, numbers)
        return numbers, notes

    def refuse_words(self, lower: Any, upper: Any) -> None:
        """Raise ``InputError`` where numbers from ``lower`` to ``upper``, (d,), may mean words.

        XGBoost and LightGBM have codes 0, 1 and 2 for the categories 1, 2 and 5 of pandas.
        """
        for place, words in self.words.items():
            for code, word in enumerate(words if place < len(lower) else ()):
                known = word.removeprefix("-").replace(".", "", 1).isdecimal()
                number = float(word) if known else {"True": 1, "False": 0}.get(word, code)
                if number != code and lower[place] <= number <= upper[place]:
                    name = self.columns[place] if self.columns else f"x{place}"
                    raise InputError(
                        f"{name} may be {number:g}, the code of a word or the word {word!r} with "
                        f"the code {code}: describe it as a category of texts, in "
                        f"from_frame by categories={{{name!r}: [{listed([*map(repr, words)])}]}}"
                    )

    def columns_for(self, names: Collection[str]) -> tuple[str, ...] | None:
        """Return the names of the coordinates to which ``names`` belong; None if there are none.

        LightGBM numbers the columns of arrays. These numbers are names only if some are given.
        """
        return None if names_for(self.columns, names) is None else self.columns

    @checked(inputs=instance_of(Inputs))
    def described(self, inputs: Inputs) -> Inputs:
        """Return ``inputs`` with their coordinates in the order of this model's columns, by name.

        Features that the model was fitted with and does not read are left out. Missing values are
        apart where rules compare them, as programs do. Raises ``InputError`` where
        the model's columns have other names than those described.
        """
        found = inputs.placed(self.columns_for(inputs.names), self.unread)
        return found.missing_apart if found.compared_missing(found.rules) else found


def as_numbers(x: ArrayLike) -> NDArray[Any]:
    """Return ``x`` as an array of numbers; ``InputError`` for anything else."""
    # TypeError: bfloat16 of PyTorch
    with refusing("the input is not an array", TypeError, ValueError, RecursionError):
        array = np.asarray(detached(x))
    if array.dtype.kind not in "biuf":
        raise InputError(f"the input has type {array.dtype}, expected numbers")
    return array
