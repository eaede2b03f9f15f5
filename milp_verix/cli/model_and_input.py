"""The question of a command: the network, the input or the message that its options name."""

import re
from dataclasses import dataclass, replace
from math import inf, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from numpy.typing import NDArray

from milp_verix.api.entrance import radius_of_question
from milp_verix.api.problem_methods import Problem
from milp_verix.base.errors import InputError, ModelError, refusing
from milp_verix.base.files import is_file
from milp_verix.base.stored_numbers import json_in
from milp_verix.cli.call_options import GivenOptions, shape_in
from milp_verix.cli.parameters import ModelAndInput, ModelOptions
from milp_verix.inputs import input_files
from milp_verix.inputs.inputs import Inputs
from milp_verix.inputs.one_row import features_among, refuse_arrays, row_of
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.models.onnx.onnx_network import load_network, loaded
from milp_verix.problem.ball import UNIT_DOMAIN
from milp_verix.results.explanation import EpsilonSweep
from milp_verix.results.shown import Stated

if TYPE_CHECKING:
    from milp_verix.api.message import Message

_PICKLES = (".joblib", ".pkl", ".pickle")
_TABLE = re.compile(r"(?P<path>.+\.(?:csv|parquet))(?::(?P<row>\d+))?", re.IGNORECASE | re.DOTALL)
Noted = TypeVar("Noted", bound=Stated)


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """The problem that a command poses; ``notes`` say how the input was converted.

    ``own`` are the options of the call that are neither the question's nor the search's.
    """

    problem: Problem
    notes: tuple[str, ...]
    own: dict[str, Any]

    def noted(self, result: Noted) -> Noted:
        """Return ``result`` with a note of how the input was converted."""
        if isinstance(result, EpsilonSweep):
            return replace(result, levels=tuple(map(self.noted, result.levels)))
        given: Any = result
        noted: Noted = replace(given, notes=(*given.notes, *self.notes))
        return noted


def question_of(case: ModelAndInput, options: GivenOptions) -> Question:
    """Read the network, the input, and what the options of the question name.

    A set of features that is a result has groups: they are those of the question, unless it names
    some. Bytes of the input are scaled to the domain. Calls that take no radius have radius 0.
    Raises ``InputError`` and ``ModelError``.
    """
    model = model_in(case.model)
    message = message_of(model, case.specification, case.add)
    if message is not None:
        message = replace(message, network=named(message.network, case.model))
    network = network_of(case.model, case, model) if message is None else message.network
    given = options.question(network)
    own = options.own(network)
    grouped = given["features"] is not None or given["inputs"] is not None or message is not None
    if "explanation" in own and not grouped:
        from milp_verix.searches.feature_sets import groups_for

        given["features"] = groups_for(own["explanation"], None)
    given.setdefault("epsilon", radius_of_question(own.get("epsilons"), given["inputs"]))
    if message is not None:
        if given.pop("inputs") is not None:
            raise InputError("--inputs describes tables: a message describes its own words")
        del given["domain"], given["feature_names"]
        given["epsilon"] = inf if given["epsilon"] is None else given["epsilon"]
        return Question(message.problem(**given), (), own)
    if given["epsilon"] is None:
        raise InputError("--epsilon is missing: give the radius of the ball")
    if given["inputs"] is not None:
        inputs = Inputs.from_file(given["inputs"])
        given["inputs"] = placed = loaded(network, inputs).described(inputs)
        if given["domain"] == UNIT_DOMAIN:
            del given["domain"]
        reordered = placed.places != inputs.places
        x, notes = _described(case.specification, network, placed, reordered)
    else:
        read = input_files.read_input(case.specification, network.input_shape, given["image_shape"])
        x = input_files.scale_bytes(read, given["domain"], network.dtype)
        scaled = None if x is read else input_files.scaled_note(given["domain"])
        texts = (input_files.decoded_note(case.specification), scaled)
        notes = tuple(note for note in texts if note is not None)
    return Question(Problem(network, x, **given), notes, own)


def _described(
    source: str, network: LoadedModel, inputs: Inputs, reordered: bool
) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Return a described input and notes on it; numbers are refused if ``reordered``."""
    if table := _TABLE.fullmatch(source):
        return _row_of_table(Path(table["path"]), table["row"], inputs)
    if not source.lower().endswith(".json"):
        refuse_arrays(reordered)
        return input_files.read_input(source, network.input_shape), ()
    with refusing(f"cannot read {source}"), refusing(f"{source} is no JSON", ValueError):
        row = json_in(Path(source))
    with refusing(source, InputError):
        named = row_of(row) or {}
        filled = {name: nan if cell is None else cell for name, cell in named.items()}
        x = inputs.row(filled or row)
        return x, features_among(inputs.features, [*named], "the row")[1]


def _row_of_table(
    path: Path, row: str | None, inputs: Inputs
) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Return a row of a table, by default its only one, and notes on which and on its columns."""
    from milp_verix.study.study_inputs import described_inputs

    given = described_inputs(path, inputs)
    if row is None and given.count > 1:
        raise InputError(
            f"{path} has {given.count} rows, expected one: {path}:0 takes the first; "
            "milp-verix batch takes all"
        )
    index = int(row or 0)
    if index >= given.count:
        raise InputError(f"{path} has the rows 0 to {given.count - 1}, got {index}")
    return given.read(index), (f"the input is {given.place(index)}", *given.remarks)


def files_of(case: ModelAndInput, options: GivenOptions) -> list[Path]:
    """Return the files that options name: no output replaces one."""
    values = [*vars(case).values(), *options.inputs]
    named = [input_files.file_of(str(one)) for one in values if isinstance(one, str | Path)]
    return [path for path in named if is_file(path)]


def network_of(path: Path, reading: ModelOptions, model: Any = None) -> LoadedModel:
    """Return the network that a command names; ``model`` is what ``path`` holds, if it is read."""
    held = model_in(path) if model is None else model
    shape = shape_in(reading.input_shape, "--input-shape")
    return named(load_network(held, input_shape=shape, output=reading.output_name), path)


def model_in(path: Path) -> Any:
    """Return the model in a pickle, which runs code when it is read; the path of another file."""
    if path.suffix.lower() not in _PICKLES or not path.is_file():
        return path
    try:
        import joblib
    except ImportError:
        raise InputError(f"{path} needs joblib: pip install 'milp-verix[sklearn]'") from None
    try:
        return joblib.load(path)
    except Exception as error:  # whatever the classes in it raise
        raise ModelError(f"cannot read {path}: {type(error).__name__}: {error}") from error


def named(network: LoadedModel, path: Path) -> LoadedModel:
    """Return the network with the name of the file that it comes from, a pickle's too."""
    return network if network.path is not None else replace(network, file_name=path.name)


def message_of(model: Any, given: str, add: str | None) -> "Message | None":
    """Return the message ``given``, or that in a .txt file, if ``model`` is a text pipeline.

    ``add`` are words that may be added, with commas between. Raises ``InputError`` for these
    before another model, and as :meth:`milp_verix.Message.of` does.
    """
    if isinstance(model, Path) or not _reads_text(model):
        if add is not None:
            raise InputError("--add is for words of a message, and this model reads no text")
        return None
    # all searches come with it, and other models need few of them
    from milp_verix.api.message import Message

    text = given
    if given.lower().endswith(".txt"):
        with refusing(f"cannot read {given}", OSError, UnicodeDecodeError):
            text = Path(given).read_text(encoding="utf-8").strip()
    words = [word.strip() for word in (add or "").split(",") if word.strip()]
    return Message.of(model, text, add=words)


def _reads_text(model: Any) -> bool:
    from milp_verix.models.onnx.text_model import is_text_pipeline

    return is_text_pipeline(model)
