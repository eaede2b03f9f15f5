"""The command ``milp-verix export``: the program of a check as a file for any solver."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from rich.console import Console

from milp_verix.atomic_write import replacing
from milp_verix.cli.delivery import check_folder, refusals
from milp_verix.cli.help_sections import output_option, question_option
from milp_verix.cli.options import BoundsName, FormulationName, Segments
from milp_verix.cli.question import QuestionOptions, files_of, freed_features, question_of
from milp_verix.errors import InputError
from milp_verix.loaded_model import LoadedModel
from milp_verix.oracle.check_program import encode_problem
from milp_verix.problem.search import Search
from verix_encodings import Encoding
from verix_encodings.blocks.smooth_enclosure import DEFAULT_SEGMENTS


def export(
    *,
    posed: QuestionOptions,
    out: Annotated[
        Path, output_option(metavar="FILE", help="Write the program here: .lp or .mps.")
    ],
    free: Annotated[
        str,
        question_option(
            metavar="all|NAME[,NAME…]|FILE",
            help="Features that may change; FILE is a .npy or .json list.",
        ),
    ] = "all",
    rival: Annotated[
        int | None,
        question_option(
            metavar="CLASS", help="Classification: the class whose margin counts. [the runner-up]"
        ),
    ] = None,
    bounds: BoundsName = "crown",
    segments: Segments = DEFAULT_SEGMENTS,
    formulation: FormulationName = "big_m",
) -> None:
    """Write the program of one check: its least cost gives the highest margin."""
    with refusals(), _overflow_refused():
        check_folder(out, *files_of(posed, free))
        asked = question_of(posed)
        network = asked.network
        index, what = _margin(network, asked.problem.x, rival, regression=posed.delta is not None)
        encoding = encode_problem(
            asked.problem,
            freed_features(free, network),
            search=Search(bounds=bounds, segments=segments, formulation=formulation),
        )
        constant = _write(encoding, index, out)
    program = encoding.program
    print_out = Console(highlight=False, soft_wrap=True).print
    print_out(f"{out}: {program.columns} columns, {program.rows} rows, {program.binaries} binaries")
    print_out(f"{what} = {constant:.17g} - cost; above 0 the prediction changes")


@contextmanager
def _overflow_refused() -> Iterator[None]:
    try:
        yield
    except OverflowError as error:
        raise InputError(str(error)) from error


def _margin(
    network: LoadedModel, x: Any, rival: int | None, *, regression: bool
) -> tuple[int, str]:
    """Return the number of the margin to maximise and its name."""
    if regression:
        if rival is not None:
            raise InputError("--rival belongs to classification: leave it or --delta out")
        return 0, "margin of the first output, upwards"
    scores = network.evaluate(network.as_input(np.asarray(x)))
    predicted = int(np.argmax(scores))
    if rival is None:
        others = np.delete(np.arange(scores.size), predicted)
        rival = int(others[np.argmax(scores[others])]) if others.size else predicted
    elif rival == predicted or not 0 <= rival < scores.size:
        raise InputError(
            f"--rival is a class of 0..{scores.size - 1} other than the predicted one, "
            f"{predicted}; got {rival}"
        )
    return rival - (rival > predicted), f"f_{rival} - f_{predicted}"


def _write(encoding: Encoding, index: int, out: Path) -> float:
    """Write the program that maximises margin ``index``; return ``c`` of margin = c − cost."""
    row, constant = encoding.output.row(index, encoding.program.columns)
    try:
        with replacing(out) as target:
            encoding.program.write(target, -row)
    except ValueError as error:
        raise InputError(str(error)) from error
    return constant
