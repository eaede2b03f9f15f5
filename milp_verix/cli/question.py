"""The question that a command poses: its options in groups, and the network and input they name."""

import re
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from numpy.typing import NDArray

from milp_verix.cli.options import (
    Against,
    Delta,
    DomainEnds,
    Epsilon,
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
)
from milp_verix.errors import InputError
from milp_verix.image_shape import image_shape_of
from milp_verix.input_files import (
    decoded_note,
    file_of,
    read_input,
    read_numbers,
    read_texts,
    scale_bytes,
    scaled_note,
)
from milp_verix.inputs.inputs import Inputs
from milp_verix.onnx_reader.onnx_network import OnnxNetwork, load_network
from milp_verix.problem.ball import UNIT_DOMAIN
from milp_verix.problem.features import FeaturesLike
from milp_verix.results.records.base import Result
from milp_verix.stored_numbers import json_in
from milp_verix.study.described_rows import described_inputs
from milp_verix.traversal.order import ORDERS

_TABLE = re.compile(r"(?P<path>.+\.(?:csv|parquet))(?::(?P<row>\d+))?", re.IGNORECASE | re.DOTALL)
Noted = TypeVar("Noted", bound=Result)


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
    """All that poses a question, except for a radius; the help lists the last base first."""


@dataclass(frozen=True, kw_only=True)
class QuestionOptions(CaseOptions):
    """All that poses a question about a ball."""

    epsilon: Epsilon


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A network, an input in the units of the domain, and the arguments that pose a problem.

    ``arguments`` go to :func:`milp_verix.problem.problem.make_problem`, with the radius of a
    :class:`QuestionOptions`; ``notes`` say how the input was converted.
    """

    network: OnnxNetwork
    x: NDArray[Any]
    arguments: dict[str, Any]
    notes: tuple[str, ...]

    @property
    def image_shape(self) -> tuple[int, ...] | None:
        """The shape in which the input is an image, where --image-shape says it."""
        shape: tuple[int, ...] | None = self.arguments["image_shape"]
        return shape

    def noted(self, result: Noted) -> Noted:
        """Return ``result`` with a note of how the input was converted."""
        return replace(result, notes=(*result.notes, *self.notes))


def question_of(case: CaseOptions, feature_names: str | None = None) -> Question:
    """Read the network, the input, the feature groups and the names that a command names.

    Bytes of the input are scaled to the domain. Raises ``InputError`` and ``ModelError``.
    """
    network = network_of(case.model, case)
    arguments = arguments_of(network, case, case, case)
    if isinstance(case, QuestionOptions):
        arguments["epsilon"] = case.epsilon
    if feature_names is not None:
        arguments["feature_names"] = names_of(feature_names, network)
    if case.inputs is not None:
        return _described(case, network, arguments, Inputs.from_file(case.inputs))
    given = read_input(case.specification, network.input_shape, arguments["image_shape"])
    x = scale_bytes(given, case.domain, network.dtype)
    notes = (
        decoded_note(case.specification),
        None if x is given else scaled_note(case.domain),
    )
    return Question(network, x, arguments, tuple(note for note in notes if note is not None))


def _described(
    case: Case, network: OnnxNetwork, arguments: dict[str, Any], inputs: Inputs
) -> Question:
    """Return the question about a described input: numbers of the network, or values by name."""
    arguments["inputs"] = inputs
    if arguments["domain"] == UNIT_DOMAIN:
        del arguments["domain"]
    source = case.specification
    if table := _TABLE.fullmatch(source):
        x, note = _row_of_table(Path(table["path"]), table["row"], inputs)
        return Question(network, x, arguments, (note,))
    if not source.lower().endswith(".json"):
        return Question(network, read_input(source, network.input_shape), arguments, ())
    try:
        return Question(network, inputs.row(json_in(Path(source))), arguments, ())
    except InputError as error:
        raise InputError(f"{source}: {error}") from error
    except OSError as error:
        raise InputError(f"cannot read {source}: {error.strerror or error}") from error
    except ValueError as error:
        raise InputError(f"{source} is no JSON: {error}") from error


def _row_of_table(path: Path, row: str | None, inputs: Inputs) -> tuple[NDArray[Any], str]:
    """Return a row of a table, by default its only one, and a note that says which."""
    given = described_inputs(path, inputs)
    if row is None and given.count > 1:
        raise InputError(
            f"{path} has {given.count} rows, expected one: {path}:0 takes the first; "
            "milp-verix batch takes all"
        )
    index = int(row or 0)
    if index >= given.count:
        raise InputError(f"{path} has the rows 0 to {given.count - 1}, got {index}")
    return given.read(index), f"the input is {given.place(index)}"


def files_of(*given: Any) -> list[Path]:
    """Return the files that options name, groups of options among them: no output replaces one."""
    groups = [one if is_dataclass(one) else None for one in given]
    values = [getattr(group, field.name) for group in groups if group for field in fields(group)]
    named = [file_of(str(one)) for one in (*given, *values) if isinstance(one, str | Path)]
    return [path for path in named if path.is_file()]


def network_of(model: Path, reading: Reading) -> OnnxNetwork:
    """Return the network that a command names."""
    shape = _shape(reading.input_shape, "--input-shape")
    return load_network(model, input_shape=shape, output=reading.output_name)


def arguments_of(
    network: OnnxNetwork, ball: Ball, explained: Explained, reading: Reading
) -> dict[str, Any]:
    """Return the arguments of a problem, all but the radius."""
    return {
        "norm": ball.norm,
        "delta": ball.delta,
        "domain": ball.domain,
        "features": _groups(ball.features, network),
        "label": explained.label,
        "against": _classes(explained.against),
        "output": explained.output,
        "image_shape": image_shape_of(
            _shape(reading.image_shape, "--image-shape"), network.input_shape
        ),
    }


def names_of(given: str | None, network: OnnxNetwork) -> Any:
    """Return the texts that the option --feature-names names."""
    if given is None:
        return None
    if given.lower().endswith(".json"):
        return numbers_in(given, "--feature-names", network)
    return read_texts(given, network.input_size)


def numbers_in(file: str, option: str, network: OnnxNetwork) -> Any:
    """Return the numbers in a .npy or .json file, for an option that takes a name or a file.

    No option takes more than a number for each coordinate of the network's input.
    """
    if Path(file).suffix in (".npy", ".json"):
        try:
            return read_numbers(Path(file), network.input_size)
        except InputError as error:
            raise InputError(f"{option}: {error}") from error
    known = {"--order": ", ".join(ORDERS), "--free": "all", "--costs": "", "--explanation": ""}.get(
        option, "pixels"
    )
    either = f"{known} or " if known else ""
    raise InputError(f"{option} is {either}a .npy or .json file, got {file!r}")


def order_of(given: str, network: OnnxNetwork) -> Any:
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


def _classes(given: str | None) -> tuple[int, ...] | None:
    """Return the classes that the option --against names."""
    if given is None:
        return None
    try:
        return tuple(int(part) for part in given.split(","))
    except ValueError as error:
        raise InputError(
            f"--against is class numbers with commas between, such as 3,9; got {given!r}"
        ) from error


def _groups(given: str | None, network: OnnxNetwork) -> FeaturesLike:
    """Return the feature groups that the option --features names."""
    if given is None or given == "pixels":
        return given
    groups: FeaturesLike = numbers_in(given, "--features", network)
    return groups
