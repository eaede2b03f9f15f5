"""Arguments and options that several commands have, and that no call has."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from milp_verix.cli.help_sections import output_option, question_option

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
AddedWords: TypeAlias = Annotated[
    str | None,
    question_option(
        "--add",
        metavar="WORD[,WORD…]",
        help="Words that may be added to a message, once each. [none]",
    ),
]
InputShape: TypeAlias = Annotated[
    str | None,
    question_option(metavar="N,N,…", help="The input's shape, where the model leaves it open."),
]
OutputName: TypeAlias = Annotated[
    str | None,
    question_option(metavar="NAME", help="The model's output to explain, where it has several."),
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
