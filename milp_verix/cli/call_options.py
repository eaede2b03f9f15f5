"""How commands spell the options of calls: their types, and readers of texts and files.

A parameter of a command that is annotated with :class:`CallOptions` stands for all options of a
call; the command gets :class:`~milp_verix.problem.option_rows.GivenOptions`.
"""

import ast
import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from inspect import Parameter
from math import inf
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from milp_verix.base.arguments import number_in, radius_in
from milp_verix.base.errors import InputError, meant, refusing
from milp_verix.base.image_shape import image_shape_of
from milp_verix.base.stored_numbers import json_in
from milp_verix.inputs.input_files import read_numbers, read_texts
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.problem.ball import UNIT_DOMAIN
from milp_verix.problem.option_rows import (
    COURSE,
    OWN,
    QUESTION,
    REQUIRED,
    SEARCH,
    SEARCHING,
    Line,
    Option,
    rows_of,
)
from milp_verix.problem.search import Search
from milp_verix.results.explanation import Explanation
from milp_verix.searches.order import ORDERS

Number = TypeVar("Number")


def number_of(text: str | float) -> float:
    """Return the number that an option names: ``0.05``, ``inf``, or a ratio such as ``8/255``."""
    return _parsed(number_in, text)


def radius_of(text: str | float) -> float | str:
    """Return the radius that an option names: a number, ``10%``, ``0.5sd``, or a file of radii."""
    return text if _names_file(text) else _parsed(radius_in, text)


def _parsed(read: Callable[[str | float], Number], text: str | float) -> Number:
    try:
        return read(text)
    except InputError as error:
        raise typer.BadParameter(str(error)) from error


def words_in(text: str) -> list[str | int]:
    """Return the features or classes in a text: numbers or names, with commas between."""
    words = [word.strip() for word in text.split(",")] if text.strip() else []
    return [int(word) if word.isdecimal() else word for word in words]


def list_in(text: str | None) -> list[str] | None:
    """Return the words in ``text``, with commas between; None for no text."""
    return [part.strip() for part in text.split(",")] if text else None


def shape_in(text: str | None, option: str) -> tuple[int, ...] | None:
    """Return the shape that an option names, such as ``"28,28"``; None for no text."""
    if text is None:
        return None
    try:
        return tuple(int(part) for part in text.replace("x", ",").replace("×", ",").split(","))
    except ValueError as error:
        raise InputError(
            f"{option} is whole numbers with commas between, such as 28,28; got {text!r}"
        ) from error


def numbers_in(file: str, option: str, network: LoadedModel, known: Collection[str] = ()) -> Any:
    """Return the numbers in a .npy or .json file; the option takes a ``known`` name, too."""
    if Path(file).suffix in (".npy", ".json"):
        with refusing(option, InputError):
            return read_numbers(Path(file), network.input_size)
    either = f"{', '.join(known)} or " if known else ""
    raise InputError(f"{option} is {either}a .npy or .json file, got {file!r}{meant(file, known)}")


def names_in(given: str, option: str, network: LoadedModel) -> Any:
    """Return the texts in a file."""
    if given.lower().endswith(".json"):
        return numbers_in(given, option, network)
    return read_texts(given, network.input_size)


def order_in(given: str, option: str, network: LoadedModel) -> Any:
    """Return the name of an order, or the list in a file."""
    return given if given in ORDERS else numbers_in(given, option, network, tuple(ORDERS))


def groups_in(given: str, option: str, network: LoadedModel) -> Any:
    """Return ``"pixels"``, or the groups of features in a file."""
    return given if given == "pixels" else numbers_in(given, option, network, ("pixels",))


def features_in(text: str, option: str, network: LoadedModel) -> Any:
    """Return the features in ``text``, numbers or names, or the list or mask in a file."""
    return numbers_in(text, option, network) if _names_file(text) else words_in(text)


def set_in(file: str, option: str, network: LoadedModel) -> Any:
    """Return features as above, or those of the explanation that milp-verix wrote to a file."""
    path = Path(file)
    if ".json" not in path.suffixes[-2:]:
        return features_in(file, option, network)
    with refusing(f"{option}: cannot read {path}", OSError, ValueError):
        content = json_in(path)
    if isinstance(content, dict) and not all(value in (True, False) for value in content.values()):
        return Explanation.from_json(json.dumps(content))
    if not isinstance(content, list | dict):
        raise InputError(
            f"{option}: {path} holds {content!r:.40}, expected a list of feature indices, a "
            "mask, or a result of milp-verix"
        )
    return content


def _radius(given: float | str, option: str, network: LoadedModel) -> Any:
    return numbers_in(str(given), option, network) if _names_file(given) else given


def radii_in(text: str, option: str, network: LoadedModel) -> list[Any]:
    """Return the radii in ``text``, with commas between: numbers, shares, and files of radii."""
    with refusing(option, InputError):
        parts = [part if _names_file(part) else radius_in(part) for part in list_in(text) or [text]]
    return [_radius(part, option, network) for part in parts]


def _names_file(given: float | str) -> bool:
    # of another kind, too: a refusal of it names the kinds that are read
    return isinstance(given, str) and re.search(r"\.(npy|npz|json|csv|txt)(:|$)", given) is not None


_TYPES: Mapping[str, tuple[Any, dict[str, Any]]] = {
    "number": (float, {"parser": number_of}),
    "radius": (float, {"parser": radius_of}),
    "ends": (tuple[float, float], {"parser": number_of}),
    "seconds": (float, {}),
    "integer": (int, {}),
    "natural": (int, {"min": 0}),
    "positive": (int, {"min": 1}),
    "path": (Path, {}),
    "flag": (bool, {}),
    "not": (bool, {}),
}
"""The type that Typer reads an option as, and its parser, where it is no text."""

_READERS: Mapping[str, Callable[[Any, str, LoadedModel], Any]] = {
    "radius": _radius,
    "class": lambda text, _option, _network: next(iter(words_in(text)), text),
    "words": lambda text, _option, _network: words_in(text),
    "list": lambda text, _option, _network: [part.strip() for part in text.split(",")],
    "radii": radii_in,
    "not": lambda flag, _option, _network: not flag,
    "shape": lambda text, option, net: image_shape_of(shape_in(text, option), net.input_shape),
    "features": features_in,
    "free": lambda text, option, net: None if text == "all" else features_in(text, option, net),
    "numbers": numbers_in,
    "names": names_in,
    "order": order_in,
    "groups": groups_in,
    "set": set_in,
}
"""Functions that turn what the command line gave into values, once the network is read."""


_DEFAULTS = {"UNIT_DOMAIN": UNIT_DOMAIN, "math.inf": inf, "()": "", '("big_m",)': "big_m"}
"""Defaults that are no literals, or that texts of the command line stand for."""


@dataclass(frozen=True)
class CallOptions:
    """Stands for the options of a ``call`` in the signature of its command.

    Options ``without`` are those that the command declares itself. A ``study`` has options of
    several calls: one that is left out has the default of its own call.
    """

    call: str
    without: tuple[str, ...] = ()
    study: bool = False

    @property
    def rows(self) -> tuple[Option, ...]:
        """The rows of the table."""
        rows = rows_of(self.call, QUESTION, OWN, SEARCH, COURSE)
        return tuple(row for row in rows if row.line and row.name not in self.without)

    def parameters(self) -> list[Parameter]:
        """Return the parameters that stand in the place of this one."""
        return [self._parameter(row, row.line) for row in self.rows if row.line is not None]

    def _parameter(self, row: Option, line: Line) -> Parameter:
        kind, extra = _TYPES.get(line.reads, (str, {}))
        default = _default_of(row, line)
        text = " ".join(line.help.split())
        section = SEARCHING if row in SEARCH else line.section
        if self.study and row not in QUESTION and default is not None:
            default, text = None, f"As of {row.calls[0]}."
        if default is None:
            kind = kind | None
        option = typer.Option(
            _flag_of(row), metavar=line.metavar or None, help=text, rich_help_panel=section, **extra
        )
        return Parameter(
            row.name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option]
        )

    def given(self, values: dict[str, Any]) -> "GivenOptions":
        """Return the options as the command is given them, taken out of ``values``."""
        return GivenOptions(self, {row.name: values.pop(row.name) for row in self.rows})


def _flag_of(row: Option) -> str:
    """Return the name of an option on the command line."""
    assert row.line is not None
    return "--" + (row.line.flag or row.name).replace("_", "-")


def _default_of(row: Option, line: Line) -> Any:
    """Return the default of a command's option."""
    if row.name == "epsilon":
        return None  # a message needs none
    if row.default == REQUIRED:
        return Parameter.empty
    if line.reads in ("free", "not"):
        return "all" if line.reads == "free" else False
    return _DEFAULTS[row.default] if row.default in _DEFAULTS else ast.literal_eval(row.default)


@dataclass(frozen=True, eq=False)
class GivenOptions:
    """The options of a call as a command is given them: ``values`` by name."""

    options: CallOptions
    values: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    @property
    def inputs(self) -> list[Any]:
        """The values that may name files to be left as they are; a result goes on in its own."""
        return [self.values[row.name] for row in self.options.rows if row not in COURSE]

    @property
    def search(self) -> Search:
        """The search by the options given; raises ``InputError``."""
        return Search(**self.searched())

    def searched(self) -> dict[str, Any]:
        """Return the options of the search."""
        return self._read(SEARCH, None)

    def question(self, network: LoadedModel) -> dict[str, Any]:
        """Return the options of the question; raises ``InputError``."""
        return self._read(QUESTION, network)

    def own(self, network: LoadedModel) -> dict[str, Any]:
        """Return the options of the call that belong neither to the question nor to the search."""
        return self._read((*OWN, *COURSE), network)

    def _read(self, part: tuple[Option, ...], network: Any) -> dict[str, Any]:
        rows = [row for row in self.options.rows if row in part]
        return {row.name: _value_of(row, self.values[row.name], network) for row in rows}


def _value_of(row: Option, value: Any, network: LoadedModel) -> Any:
    reader = _READERS.get(row.line.reads) if row.line is not None else None
    return value if reader is None or value is None else reader(value, _flag_of(row), network)
