"""The command ``milp-verix export``: the program of a check as a file for any solver."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from milp_verix.base.errors import InputError, printable
from milp_verix.base.files import replacing, write_atomically
from milp_verix.base.tolerances import Tolerances
from milp_verix.base.version import version
from milp_verix.cli.asked import Asked, Options
from milp_verix.cli.delivery import check_folder, refusals
from milp_verix.cli.help_sections import output_option, question_option
from milp_verix.cli.question import Case, files_of, question_of
from milp_verix.cli.terminal import Terminal
from milp_verix.comparison.each_check import Relaxations, size_of
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.oracle.check_program import column_map
from milp_verix.results.base import array_hash
from verix_encodings import Encoding
from verix_encodings.arrays import FloatArray


def export(
    *,
    case: Case,
    out: Annotated[
        Path, output_option(metavar="FILE", help="Write the program here: .lp or .mps.")
    ],
    asked: Annotated[Asked, Options("export")],
    rival: Annotated[
        int | None,
        question_option(
            metavar="CLASS", help="Classification: the class whose margin counts. [the runner-up]"
        ),
    ] = None,
    columns: Annotated[
        Path | None,
        output_option(
            metavar="OUT",
            help="Write the map from columns to inputs and neurons here, as CSV.",
        ),
    ] = None,
) -> None:
    """Write the program of one check: its least cost gives the highest margin."""
    with refusals():
        check_folder(out, *files_of(case, asked))
        check_folder(columns, out, *files_of(case, asked))
        question = question_of(case, asked)
        network, problem = question.network, question.problem
        against = getattr(problem.question, "against", None)
        regression = asked["delta"] is not None
        index, what = _margin(network, problem.x, rival, against, regression=regression)
        encoding = problem.export(**question.own, search=asked.search())
        row, constant = encoding.output.row(index, encoding.program.columns)
        equation = f"{what} = {constant:.17g} - cost; above 0 the prediction changes"
        ball = problem.ball
        comments = (
            f"milp-verix {version()}: one check of {network.name}, SHA-256 {network.sha256}",
            f"input SHA-256 {array_hash(problem.x)}; {ball.norm} ball, radius {ball.epsilon}",
            f"formulation {asked['formulation']}, bounds by {asked['bounds']}; features free: "
            f"{asked['free']}",
            equation,
            "columns: x inputs, z pre-activations, a activations, d phases, s slacks; the number "
            "of the node and of the neuron behind each",
        )
        _write(encoding, -row, out, tuple(map(printable, comments)))
        if columns is not None:
            write_atomically(columns, column_map(encoding.program))
        relaxed, _ = Relaxations(Tolerances()).solve(encoding.program, -row)
    size = size_of(encoding.program)
    print_out = Terminal(soft_wrap=True).print
    print_out(f"{out}: columns: {size.columns}, rows: {size.rows}, binaries: {size.binaries}")
    print_out(equation)
    told = "not known: HiGHS takes no quadratic row" if relaxed is None else f"{relaxed:.9g}"
    print_out(f"optimum of the linear relaxation: {told}")
    print_out(
        f"largest big-M {size.largest_big_m:.4g}; coefficients from {size.least_coefficient:.4g} "
        f"to {size.largest_coefficient:.4g}"
    )


def _margin(
    network: LoadedModel,
    x: Any,
    rival: int | None,
    against: Sequence[int] | None,
    *,
    regression: bool,
) -> tuple[int, str]:
    """Return the number of the margin to maximise and its name; margins are those of ``against``.

    They are those of all classes but the predicted one if ``against`` is None.
    """
    if regression:
        if rival is not None:
            raise InputError("--rival belongs to classification: leave it or --delta out")
        return 0, "margin of the first output, upwards"
    scores = network.outputs_at(network.as_input(np.asarray(x)))
    predicted = int(np.argmax(scores))
    others = np.delete(np.arange(scores.size), predicted) if against is None else np.array(against)
    if rival is None:
        rival = int(others[np.argmax(scores[others])]) if others.size else predicted
    elif rival not in others:
        raise InputError(
            f"--rival is a class of 0..{scores.size - 1} other than the predicted one, "
            f"{predicted}, and one of those --against; got {rival}"
        )
    return int(np.sum(others < rival)), f"f_{rival} - f_{predicted}"


def _write(encoding: Encoding, cost: FloatArray, out: Path, comments: tuple[str, ...]) -> None:
    """Write the program of ``cost``; raises ``InputError`` for what the format cannot hold."""
    try:
        with replacing(out) as target:
            encoding.program.write(target, cost, comments)
    except ValueError as error:
        raise InputError(str(error)) from error
