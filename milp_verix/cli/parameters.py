"""Parameters that commands share, alone or in groups, and the help of a command in sections."""

from collections.abc import Callable
from dataclasses import dataclass, is_dataclass
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, TypeAlias, get_args

import typer
from typer.core import TyperCommand


def with_groups_expanded(command: Callable[..., None]) -> Callable[..., None]:
    """Return ``command`` with the fields of its dataclass parameters in the place of these.

    Typer makes an option of each parameter of a function, in their order: a group stands in the
    signature of a command where its options stand in the help. The options of a call stand in the
    place of a parameter that is annotated with :class:`~milp_verix.cli.call_options.CallOptions`.
    """
    groups: dict[str, Callable[[dict[str, Any]], Any]] = {}
    parameters: list[Parameter] = []
    for name, parameter in signature(command).parameters.items():
        kind = parameter.annotation
        options = [one for one in get_args(kind) if hasattr(one, "parameters")]
        if options:
            parameters += options[0].parameters()
            groups[name] = options[0].given
        elif isinstance(kind, type) and is_dataclass(kind):
            fields = [*signature(kind).parameters.values()]
            parameters += fields
            groups[name] = partial(_group, kind, [field.name for field in fields])
        else:
            parameters.append(parameter)

    @wraps(command)
    def expanded(**given: Any) -> None:
        grouped = {name: make(given) for name, make in groups.items()}
        command(**grouped, **given)

    expanded.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    expanded.__annotations__ = {one.name: one.annotation for one in parameters}
    return expanded


def _group(kind: type, names: list[str], given: dict[str, Any]) -> Any:
    return kind(**{name: given.pop(name) for name in names})


SECTIONS = ("Arguments", "The output", "The question", "The search")
ARGUMENTS, OUTPUT, QUESTION, SEARCH = SECTIONS


def _option(section: str, metavar: str | None, text: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, metavar=metavar, help=text, rich_help_panel=section, **more)


question_option = partial(_option, QUESTION)
search_option = partial(_option, SEARCH)
output_option = partial(_option, OUTPUT)


File: TypeAlias = Path | None
Text: TypeAlias = str | None

ModelPath: TypeAlias = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL",
        help="The model: an ONNX file, trees saved by XGBoost or LightGBM, or a .joblib or .pkl "
        "file of scikit-learn, which runs code when it is read: open none that you do not trust.",
    ),
]
JsonPath: TypeAlias = Annotated[File, output_option("OUT", "Write the result here.", "--json")]
PlotPath: TypeAlias = Annotated[
    File, output_option("OUT", "Draw the result here: .png, .svg, .pdf.", "--plot")
]
Shift: TypeAlias = Annotated[
    float, output_option("SECONDS", "Of a study of solvers: what shifted means add to each time.")
]
Quiet: TypeAlias = Annotated[bool, output_option(None, "Print no summary.", "--quiet", "-q")]


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """What a model does not tell about itself."""

    input_shape: Annotated[
        Text, question_option("N,N,…", "The input's shape, where the model leaves it open.")
    ] = None
    output_name: Annotated[
        Text, question_option("NAME", "The model's output to explain, where it has several.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class ModelAndInput(ModelOptions):
    """The network and the input."""

    model: ModelPath
    specification: Annotated[
        str,
        typer.Argument(
            metavar="INPUT",
            help="A .npy file, a .npz file with KEY[INDEX] after a colon, or a picture (PNG, JPEG, "
            "BMP, GIF, WebP, TIFF). Bytes 0..255 are scaled to the domain. For a pipeline of text, "
            "the message itself or a .txt file.",
        ),
    ]
    add: Annotated[
        Text,
        question_option(
            "WORD[,WORD…]", "Words that may be added to a message, once each. [none]", "--add"
        ),
    ] = None


def help_sections(command: Any, context: Any) -> dict[str, list[tuple[str, str]]]:
    """Return the sections of a help: parameters and meanings; those required are arguments."""
    found: dict[str, list[tuple[str, str]]] = {section: [] for section in SECTIONS}
    for parameter in command.get_params(context):
        if (record := parameter.get_help_record(context)) is None:
            continue
        if parameter.required or parameter.param_type_name == "argument":
            found[ARGUMENTS].append(record)
        else:
            found[getattr(parameter, "rich_help_panel", None) or OUTPUT].append(record)
    return {section: rows for section, rows in found.items() if rows}


class SectionedCommand(TyperCommand):
    """A command whose help is in sections, as plain text: Rich would break long choices."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the sections."""
        for section, rows in help_sections(self, ctx).items():
            with formatter.section(section):
                formatter.write_dl(rows)
