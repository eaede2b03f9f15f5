"""The question that a command poses: its options in groups, and the network and input they name."""

import json
import re
from dataclasses import dataclass, fields, is_dataclass, replace
from math import inf
from pathlib import Path
from typing import Any, TypeVar

from numpy.typing import NDArray

from milp_verix.api.problem import Problem
from milp_verix.base.errors import InputError, refusing
from milp_verix.base.image_shape import image_shape_of
from milp_verix.base.names import meant
from milp_verix.base.stored_numbers import json_in
from milp_verix.cli.messages import message_of, model_in, named
from milp_verix.cli.options import (
    AddedWords,
    Against,
    Delta,
    DomainEnds,
    Epsilon,
    FeatureNames,
    Groups,
    ImageShape,
    InputPath,
    InputShape,
    InputsPath,
    Label,
    ModelPath,
    Norm,
    Output,
    OutputName,
    features_in,
)
from milp_verix.inputs.input_files import (
    decoded_note,
    file_of,
    read_input,
    read_numbers,
    read_texts,
    scale_bytes,
    scaled_note,
)
from milp_verix.inputs.inputs import Inputs
from milp_verix.inputs.one_row import features_among, row_of
from milp_verix.inputs.placement import refuse_arrays
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.models.onnx.onnx_network import load_network, loaded
from milp_verix.problem.ball import UNIT_DOMAIN
from milp_verix.problem.problem import PosedProblem
from milp_verix.results.public import EpsilonSweep, Explanation
from milp_verix.results.shown import Told
from milp_verix.searches.audit.feature_sets import groups_for
from milp_verix.searches.explain.order import ORDERS
from milp_verix.study.inputs import described_inputs

_TABLE = re.compile(r"(?P<path>.+\.(?:csv|parquet))(?::(?P<row>\d+))?", re.IGNORECASE | re.DOTALL)
Noted = TypeVar("Noted", bound=Told)


@dataclass(frozen=True, kw_only=True)
class Case:
    """The network and the input."""

    model: ModelPath
    specification: InputPath


@dataclass(frozen=True, kw_only=True)
class Ball:
    """The inputs that a claim is about, and the change of an output that counts."""

    norm: Norm = "linf"
    delta: Delta = None
    domain: DomainEnds = (0.0, 1.0)
    features: Groups = None


@dataclass(frozen=True, kw_only=True)
class Described:
    """The description of the input."""

    inputs: InputsPath = None
    add: AddedWords = None


@dataclass(frozen=True, kw_only=True)
class Explained:
    """The prediction that is explained."""

    label: Label = None
    against: Against = None
    output: Output = None


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Shapes and names that a model or an input does not tell."""

    input_shape: InputShape = None
    output_name: OutputName = None
    image_shape: ImageShape = None


@dataclass(frozen=True, kw_only=True)
class CaseOptions(Reading, Explained, Described, Ball, Case):
    """The options that pose a question, without a radius; the help lists the last base first."""


@dataclass(frozen=True, kw_only=True)
class QuestionOptions(CaseOptions):
    """The options that pose a question about a ball."""

    epsilon: Epsilon = None


@dataclass(frozen=True, kw_only=True)
class Named:
    """The names of the features."""

    feature_names: FeatureNames = None


@dataclass(frozen=True, kw_only=True)
class NamedCase(Named, CaseOptions):
    """The options that pose a question without a radius, and names of the features."""


@dataclass(frozen=True, kw_only=True)
class NamedQuestion(Named, QuestionOptions):
    """The options that pose a question about a ball, and names of the features."""


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """The problem that a command poses; ``notes`` say how the input was converted.

    ``explanation`` is the set of features that it is about, if a file has one.
    """

    problem: PosedProblem
    notes: tuple[str, ...]
    explanation: Any = None

    @property
    def network(self) -> LoadedModel:
        """The network explained."""
        return self.problem.network

    def noted(self, result: Noted) -> Noted:
        """Return ``result`` with a note of how the input was converted."""
        if isinstance(result, EpsilonSweep):
            return replace(result, levels=tuple(map(self.noted, result.levels)))
        given: Any = result
        noted: Noted = replace(given, notes=(*given.notes, *self.notes))
        return noted


def question_of(case: CaseOptions, explanation: str | None = None) -> Question:
    """Read the network, the input, the feature groups and the names that a command names.

    ``explanation`` is the file of a set of features: if it is a result, its groups are those of the
    question, unless the case names some. Bytes of the input are scaled to the domain. Without a
    radius the problem has radius 0. Raises ``InputError`` and ``ModelError``.
    """
    model = model_in(case.model)
    message = message_of(model, case.specification, case.add)
    if message is not None:
        message = replace(message, network=named(message.network, case.model))
    network = network_of(case.model, case, model) if message is None else message.network
    kept: Any = None if explanation is None else explanation_in(explanation, network)
    asked = arguments_of(network, case, case, case)
    if case.features is None and case.inputs is None and message is None:
        asked["features"] = groups_for(kept, None)
    epsilon: Any = case.epsilon if isinstance(case, QuestionOptions) else 0.0
    if isinstance(epsilon, str) and epsilon.endswith((".npy", ".json")):
        epsilon = numbers_in(epsilon, "--epsilon", network)
    if message is not None:
        if case.inputs is not None:
            raise InputError("--inputs describes tables: a message describes its own words")
        del asked["domain"]
        epsilon = inf if epsilon is None else epsilon
        return Question(message.problem(epsilon=epsilon, **asked), (), kept)
    if epsilon is None:
        raise InputError("--epsilon is missing: give the radius of the ball")
    if isinstance(case, Named) and case.feature_names is not None:
        asked["feature_names"] = names_of(case.feature_names, network)
    if case.inputs is not None:
        inputs = Inputs.from_file(case.inputs)
        asked["inputs"] = placed = loaded(network, inputs).described(inputs)
        if asked["domain"] == UNIT_DOMAIN:
            del asked["domain"]
        reordered = placed.places != inputs.places
        x, notes = _described(case.specification, network, placed, reordered)
    else:
        image_shape = _image_shape(case, network)
        given = read_input(case.specification, network.input_shape, image_shape)
        x = scale_bytes(given, case.domain, network.dtype)
        scaled = None if x is given else scaled_note(case.domain)
        told = (decoded_note(case.specification), scaled)
        notes = tuple(note for note in told if note is not None)
    return Question(Problem(network, x, epsilon=epsilon, **asked), notes, kept)


def explanation_in(file: str, network: LoadedModel) -> Any:
    """Return the set in a file: indices, a mask, or the explanation that milp-verix wrote."""
    path = Path(file)
    if ".json" not in path.suffixes[-2:]:
        return numbers_in(file, "--explanation", network)
    with refusing(f"--explanation: cannot read {path}", OSError, ValueError):
        content = json_in(path)
    if isinstance(content, dict) and not all(value in (True, False) for value in content.values()):
        return Explanation.from_json(json.dumps(content))
    if not isinstance(content, list | dict):
        raise InputError(
            f"--explanation: {path} holds {content!r:.40}, expected a list of feature indices, a "
            "mask, or a result of milp-verix"
        )
    return content


def _described(
    source: str, network: LoadedModel, inputs: Inputs, reordered: bool
) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Return a described input, numbers of the network or values by name, and notes on it.

    Numbers are refused if the inputs were ``reordered``.
    """
    if table := _TABLE.fullmatch(source):
        return _row_of_table(Path(table["path"]), table["row"], inputs)
    if not source.lower().endswith(".json"):
        refuse_arrays(reordered)
        return read_input(source, network.input_shape), ()
    with refusing(f"cannot read {source}"), refusing(f"{source} is no JSON", ValueError):
        row = json_in(Path(source))
    with refusing(source, InputError):
        x = inputs.row(row)
        return x, features_among(inputs.features, [*(row_of(row) or ())], "the row")[1]


def _row_of_table(
    path: Path, row: str | None, inputs: Inputs
) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Return a row of a table, by default its only one, and notes on which and on its columns."""
    given = described_inputs(path, inputs)
    if row is None and given.count > 1:
        raise InputError(
            f"{path} has {given.count} rows, expected one: {path}:0 takes the first; "
            "milp-verix batch takes all"
        )
    index = int(row or 0)
    if index >= given.count:
        raise InputError(f"{path} has the rows 0 to {given.count - 1}, got {index}")
    return given.read(index), (f"the input is {given.place(index)}", *given.told)


def files_of(*given: Any) -> list[Path]:
    """Return the files that options name, groups of options among them: no output replaces one."""
    groups = [one if is_dataclass(one) else None for one in given]
    values = [getattr(group, field.name) for group in groups if group for field in fields(group)]
    named = [file_of(str(one)) for one in (*given, *values) if isinstance(one, str | Path)]
    return [path for path in named if path.is_file()]


def network_of(path: Path, reading: Reading, model: Any = None) -> LoadedModel:
    """Return the network that a command names; ``model`` is what ``path`` holds, if it is read."""
    held = model_in(path) if model is None else model
    shape = _shape(reading.input_shape, "--input-shape")
    return named(load_network(held, input_shape=shape, output=reading.output_name), path)


def arguments_of(
    network: LoadedModel, ball: Ball, explained: Explained, reading: Reading
) -> dict[str, Any]:
    """Return the options of a problem, all but the radius."""
    groups, label = ball.features, explained.label
    if groups is not None and groups != "pixels":
        groups = numbers_in(groups, "--features", network)
    return {
        "norm": ball.norm,
        "delta": ball.delta,
        "domain": ball.domain,
        "features": groups,
        "label": None if label is None else next(iter(features_in(label)), label),
        "against": None if explained.against is None else features_in(explained.against),
        "output": explained.output,
        "image_shape": _image_shape(reading, network),
    }


def names_of(given: str | None, network: LoadedModel) -> Any:
    """Return the texts that the option --feature-names names."""
    if given is None:
        return None
    if given.lower().endswith(".json"):
        return numbers_in(given, "--feature-names", network)
    return read_texts(given, network.input_size)


def numbers_in(file: str, option: str, network: LoadedModel) -> Any:
    """Return the numbers in a .npy or .json file, for an option that takes a name or a file.

    No option takes more than a number for each coordinate of the network's input.
    """
    if Path(file).suffix in (".npy", ".json"):
        with refusing(option, InputError):
            return read_numbers(Path(file), network.input_size)
    known = {"--order": ORDERS, "--costs": (), "--explanation": ()}.get(option, ("pixels",))
    either = f"{', '.join(known)} or " if known else ""
    raise InputError(f"{option} is {either}a .npy or .json file, got {file!r}{meant(file, known)}")


def freed_features(given: str, network: LoadedModel) -> Any:
    """Return the features that --free names or lists in a file; None for all."""
    if given == "all":
        return None
    if given.endswith((".npy", ".json")):
        return numbers_in(given, "--free", network)
    return features_in(given)


def order_of(given: str, network: LoadedModel) -> Any:
    """Return the name of an order, or the list in the file that the option --order names."""
    return given if given in ORDERS else numbers_in(given, "--order", network)


def _shape(text: str | None, option: str) -> tuple[int, ...] | None:
    """Return the shape that an option names."""
    if text is None:
        return None
    try:
        return tuple(int(part) for part in re.split("[,x×]", text))
    except ValueError as error:
        raise InputError(
            f"{option} is whole numbers with commas between, such as 28,28; got {text!r}"
        ) from error


def _image_shape(reading: Reading, network: LoadedModel) -> tuple[int, ...] | None:
    return image_shape_of(_shape(reading.image_shape, "--image-shape"), network.input_shape)
