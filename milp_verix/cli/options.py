"""Options that several commands have, as types of their parameters."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from milp_verix.base.arguments import number_in, radius_in
from milp_verix.base.errors import InputError
from milp_verix.cli.help_sections import output_option, question_option, search_option
from milp_verix.oracle.bound_tightening import BOUNDS
from milp_verix.problem.ball import NORMS
from milp_verix.problem.search import WARM
from milp_verix.solvers import CHECKERS, SOLVERS
from verix_encodings import FORMULATIONS


def number_of(text: str | float) -> float:
    """Return the number that an option names: ``0.05``, ``inf``, or a ratio such as ``8/255``."""
    try:
        return number_in(text)
    except InputError as error:
        raise typer.BadParameter(str(error)) from error


def radius_of(text: str | float) -> float | str:
    """Return the radius that an option names: a number, ``10%``, ``0.5sd``, or a file of radii."""
    if isinstance(text, str) and text.endswith((".npy", ".json")):
        return text
    try:
        return radius_in(text)
    except InputError as error:
        raise typer.BadParameter(str(error)) from error


def features_in(text: str) -> list[str | int]:
    """Return the features or classes in a text: numbers or names, with commas between."""
    words = [word.strip() for word in text.split(",")] if text.strip() else []
    return [int(word) if word.isdecimal() else word for word in words]


ModelPath: TypeAlias = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL",
        help="The model: an ONNX file, trees saved by XGBoost or LightGBM, or a .joblib or .pkl "
        "file of scikit-learn, which runs code when it is read: open none that you do not trust.",
    ),
]
InputPath: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="INPUT",
        help="A .npy file, a .npz file with KEY[INDEX] after a colon, or a picture (PNG, JPEG, "
        "BMP, GIF, WebP, TIFF). Bytes 0..255 are scaled to the domain. For a pipeline of text, the "
        "message itself or a .txt file.",
    ),
]
InputsPath: TypeAlias = Annotated[
    Path | None,
    question_option(
        "--inputs",
        metavar="FILE",
        help="A .json or .toml description of the input: names, domains, whole numbers, "
        "categories, rules. --epsilon may be inf, 10% of ranges or 0.5sd then, and INPUT a .json "
        "file of values by name, or a row of a table, such as table.csv:0 for the first.",
    ),
]
AddedWords: TypeAlias = Annotated[
    str | None,
    question_option(
        "--add",
        metavar="WORD[,WORD…]",
        help="Words that may be added to a message, once each. [none]",
    ),
]
Epsilon: TypeAlias = Annotated[
    float | None,
    question_option(
        parser=radius_of,
        metavar="NUMBER",
        help="Radius of the ball, in the units of the network's input; fractions are allowed, "
        "such as 8/255. Or a file, .npy or .json, with a radius for each coordinate or by name. "
        "Only a message needs none: each of its words may go.",
    ),
]
Norm: TypeAlias = Annotated[str, question_option(metavar="|".join(NORMS), help="Norm of the ball.")]
Delta: TypeAlias = Annotated[
    float | None,
    question_option(
        parser=number_of,
        metavar="NUMBER",
        help="Regression: the change of an output that counts. [classification]",
    ),
]
DomainEnds: TypeAlias = Annotated[
    tuple[float, float],
    question_option(
        parser=number_of,
        metavar="LO HI",
        help="Ends of the input domain; inf and -inf are allowed.",
    ),
]
Groups: TypeAlias = Annotated[
    str | None,
    question_option(
        metavar="pixels|FILE",
        help="What is freed together: a pixel with its channels, or groups from a file, .npy "
        "(a group number for each coordinate) or .json (lists of coordinates). "
        "[each coordinate]",
    ),
]
FeatureNames: TypeAlias = Annotated[
    str | None,
    question_option(
        metavar="FILE",
        help="What to call the features: a list of texts, .json, .npy or .npz:KEY. [numbers]",
    ),
]
Label: TypeAlias = Annotated[
    str | None,
    question_option(
        metavar="CLASS",
        help="The class explained, by number or name; it must be the one predicted.",
    ),
]
Against: TypeAlias = Annotated[
    str | None,
    question_option(
        metavar="CLASS[,CLASS…]",
        help="The classes, by numbers or names, that must not overtake the predicted one. "
        "[all others]",
    ),
]
Output: TypeAlias = Annotated[
    int | None, question_option(metavar="N", help="Regression: the one output explained. [all]")
]
BoundsName: TypeAlias = Annotated[
    str,
    search_option(
        metavar="|".join(BOUNDS),
        help="How neurons are bounded: each tighter and slower than the one before.",
    ),
]
Segments: TypeAlias = Annotated[
    int, search_option(metavar="N", min=1, help="Pieces that enclose each smooth activation.")
]
Warm: TypeAlias = Annotated[
    str,
    search_option(
        metavar="|".join(WARM), help="What the solver keeps from one program to the next."
    ),
]
FormulationName: TypeAlias = Annotated[
    str,
    search_option(
        metavar="|".join([*FORMULATIONS, "partition:N"]),
        help="How ReLUs become rows and columns; not every solver takes every one.",
    ),
]
InputShape: TypeAlias = Annotated[
    str | None,
    question_option(metavar="N,N,…", help="The input's shape, where the model leaves it open."),
]
ImageShape: TypeAlias = Annotated[
    str | None,
    question_option(
        metavar="H,W[,C]",
        help="How a flat input is an image, such as 28,28 or 32,32,3, or 3,32,32 where channels "
        "come first. Pixels, pictures and plots follow it.",
    ),
]
OutputName: TypeAlias = Annotated[
    str | None,
    question_option(metavar="NAME", help="The model's output to explain, where it has several."),
]
SolverName: TypeAlias = Annotated[
    str,
    search_option(
        metavar="|".join(["auto", *SOLVERS, *CHECKERS]),
        help="Solver of the programs; also pulp:NAME and pyomo:NAME.",
    ),
]
Threads: TypeAlias = Annotated[
    int, search_option(metavar="N", min=1, help="Threads that the solver may use.")
]
TimeLimit: TypeAlias = Annotated[
    float | None, search_option(metavar="SECONDS", help="Seconds for the search. [none]")
]
CheckTimeLimit: TypeAlias = Annotated[
    float | None,
    search_option(
        metavar="SECONDS", help="Seconds for each check. [the search's, or 300 if it has none]"
    ),
]
Memory: TypeAlias = Annotated[
    str | None,
    search_option(metavar="SIZE", help="Memory that the process may hold, such as 2GB. [no limit]"),
]
Costs: TypeAlias = Annotated[
    str | None,
    question_option(
        metavar="FILE",
        help="What each feature costs, .npy or .json, there also by name, '*' for others. [1 each]",
    ),
]
Resume: TypeAlias = Annotated[
    Path | None,
    search_option(
        metavar="RESULT.json",
        help="Go on from this earlier result of the same question, such as one that --json saved.",
    ),
]
JsonPath: TypeAlias = Annotated[
    Path | None, output_option("--json", metavar="OUT", help="Write the result here.")
]
PlotPath: TypeAlias = Annotated[
    Path | None,
    output_option("--plot", metavar="OUT", help="Draw the result here: .png, .svg, .pdf."),
]
CertificatePath: TypeAlias = Annotated[
    Path | None,
    output_option(
        "--certificate",
        metavar="OUT",
        help="Write a proof here that verix-check checks without a solver.",
    ),
]
Quiet: TypeAlias = Annotated[bool, output_option("--quiet", "-q", help="Print no summary.")]
