"""A study of solvers as rows of text, and as a table for the command line."""

from rich.table import Table

from milp_verix.base.number_text import counted, exact
from milp_verix.results.solver_study import SHIFT, SolverTimes
from milp_verix.views.words.fact_table import table_of_rows

TEXTS = 2
HEADS = ("solver", "formulation", "asked", "solved", "fastest", "shifted mean, s", "PAR-2, s")


def rows(times: SolverTimes) -> list[tuple[str, ...]]:
    """Return the cells of each pair, the best first."""
    return [
        (
            one.pair.solver,
            one.pair.formulation,
            str(one.asked),
            str(one.solved),
            str(one.fastest),
            f"{one.shifted_mean:.3f}",
            f"{one.par2:.3f}",
        )
        for one in times.summary()
    ]


def table(times: SolverTimes) -> Table:
    """Return a table without lines, a row for each pair."""
    return table_of_rows(HEADS, rows(times), TEXTS)


def meaning(times: SolverTimes) -> str:
    """Return the sentence that goes with the numbers."""
    return (
        f"{counted(len(times.instances), 'check')} with a limit of {exact(times.limit)} s each. "
        f"The shifted geometric mean adds {exact(SHIFT)} s to each time and counts an unanswered "
        "check as the limit; PAR-2 counts it as twice the limit."
    )
