"""Texts as tables for the terminal: facts, comparisons, studies of solvers, and columns."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import floor, isnan
from statistics import median
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from milp_verix.base.errors import printable
from milp_verix.base.number_text import counted, exact, nearest
from milp_verix.oracle.verdict import Answer
from milp_verix.views.wording import joined, listed_texts

if TYPE_CHECKING:
    from milp_verix.results.comparison import Comparison, Run
    from milp_verix.results.solver_times import SolverTimes

TEXTS = 2
"""So many columns of pairs of a solver and a formulation hold no numbers."""
STUDY_HEADS = (
    *("solver", "formulation", "asked", "solved", "fastest", "shifted mean, s", "all, s"),
    *("PAR10, s", "ratio", "95 % interval", "p"),
)
_MOST = 3
_CLOCKS = {
    "solver": "the solver's own, of its calls where it has no clock",
    "wall": "wall-clock times",
    "cpu": "processor times",
}


def table_of(facts: Iterable[tuple[str, str]]) -> Table:
    """Return pairs of a name and a text as two columns without lines; names are dimmed."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="dim")
    table.add_column()
    for name, value in facts:
        # a file name may hold brackets, which rich would take for markup
        table.add_row(*(Text(printable(text)) for text in (name, value)))
    return table


def table_of_rows(heads: Iterable[str], rows: Iterable[Sequence[str]], texts: int) -> Table:
    """Return a table without lines; all but the first ``texts`` columns hold numbers."""
    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="dim")
    for place, head in enumerate(heads):
        table.add_column(head, justify="right" if place >= texts else "left", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    return table


def comparison_heads(comparison: "Comparison") -> tuple[str, ...]:
    """Return the names of the columns; all but the first two hold numbers."""
    answers = {"check": ("holds", "violated"), "explain": ("size",)}.get(
        comparison.task, ("cost", "bound", "master")
    )
    numbers: tuple[str, ...] = ("seconds", "build", "solve", "re-solve", "checks", "solves")
    if comparison.task == "check":
        numbers = ("solver, s", "build, s", "all, s", "programs")
    return ("solver", "formulation", *answers, "unknown", *numbers, "nodes", "iterations")


def comparison_rows(comparison: "Comparison") -> list[tuple[str, ...]]:
    """Return the cells of each run, as text. Times are in seconds."""
    return [_row(run, comparison) for run in comparison.runs]


def _row(run: "Run", comparison: "Comparison") -> tuple[str, ...]:
    inside = run.inside
    answers: list[object] = [run.count(one) for one in (Answer.HOLDS, Answer.VIOLATED)]
    unknown, counts = run.unknown, [run.checks, run.solves]
    times = [run.seconds, inside.build_seconds, inside.solve_seconds, inside.resolve_seconds]
    if comparison.task == "check":
        unknown, counts = run.count(Answer.UNKNOWN), [run.programs]
        times = [inside.solver_seconds, inside.build_seconds, run.seconds]
    elif comparison.task == "explain":
        answers = [run.size]
    else:
        costs = (run.cost, run.bound)
        parts = ["–" if cost is None else nearest(cost, 6).replace("∞", "none") for cost in costs]
        answers = [*parts, run.master or "–"]
    return (
        run.pair.solver + (f" ({run.handed_to})" if run.handed_to else ""),
        run.pair.formulation,
        *(str(one) for one in answers),
        str(unknown),
        *(f"{seconds:.2f}" for seconds in times),
        *map(str, counts),
        *("–" if count is None else str(count) for count in (run.nodes, run.iterations)),
    )


def comparison_table(comparison: "Comparison") -> Table:
    """Return a table without lines, a row for each run."""
    return table_of_rows(comparison_heads(comparison), comparison_rows(comparison), TEXTS)


def remarks(comparison: "Comparison") -> list[str]:
    """Return the lines that go with the numbers: verdict, pairs left out, notes."""
    found = [*_prepared(comparison), *_verdict(comparison)]
    limits = narrowed(comparison.against, comparison.output, comparison.rules)
    found += [f"the question: {limits}"] if limits else []
    several = comparison.task in ("check", "explain")
    decided = {run.answers for run in comparison.runs if not run.unknown}
    if several and comparison.agree and len(decided) > 1:
        found.append(
            "runs that decided everything differ all the same: by rounding, or by an order that "
            "depends on what a solver finds"
        )
    found += [f"not run: {skipped}" for skipped in comparison.skipped]
    for run in comparison.runs:
        unrun = Counter(one.reason for one in run.each if one.status in ("not run", "failed"))
        found += [f"{run.pair}: {why} ({counted(n, 'program')})" for why, n in unrun.items()]
        open_ = Counter(run.explanation.unknown_reasons.values() if run.explanation else ())
        found += [f"{run.pair}: {why} ({counted(n, 'feature')})" for why, n in open_.items()]
    runs = comparison.runs
    found += [_spread(run) for run in runs if comparison.seeds > 1 and run.each]
    # a note that all runs have is about the question
    shared = [
        note
        for note in (runs[0].notes if len(runs) > 1 else ())
        if all(note in r.notes for r in runs)
    ]
    for run in runs:
        found += [f"{run.pair}: stopped: {run.stopped}"] if run.stopped else []
        found += [f"{run.pair}: {note}" for note in run.notes if note not in shared]
    return found + shared


def _spread(run: "Run") -> str:
    """Return how far the seconds of a solver lie apart by seeds; those that ended early are out."""
    seconds: dict[int, list[float]] = {}
    for one in run.each:
        seconds.setdefault(one.seed, []).append(one.solver_seconds)
    sums = sorted(sum(some) for some in seconds.values() if len(some) == run.programs)
    return (
        f"{run.pair}: the table has seed 0; over {counted(len(sums), 'seed')} the solver took "
        f"{sums[0]:.2f} to {sums[-1]:.2f} s, median {median(sums):.2f} s"
    )


def _prepared(comparison: "Comparison") -> list[str]:
    """Return what was decided before any solver was asked, and what each one got."""
    if comparison.task != "check" or not comparison.checks:
        return []
    by = Counter(one.by for one in comparison.decided if one.answer is not Answer.UNKNOWN)
    left = len(comparison.checks) - len(comparison.decided)
    which = f"{counted(left, 'check')} that bounds and an attack did not decide"
    if by:
        decided = ", ".join(f"{who} decided {n}" for who, n in by.items())
        which = f"{counted(len(comparison.checks), 'check')}: {decided}, {left} left"
    got = sorted({run.programs for run in comparison.runs}) or [0]
    each = "each solver got" if len(got) == 1 else f"solvers got {got[0]} to"
    return [
        f"{which}; {each} {counted(got[-1], 'program')} "
        f"({comparison.prepared_seconds:.2f} s until then, in no solver's time)"
    ]


def narrowed(against: Sequence[int] | None, output: int | None, rules: Sequence[str]) -> str:
    """Return what narrows a question, ``"against class 9 alone, 2 rules"``, or nothing."""
    parts = [] if against is None else [f"against {joined(f'class {c}' for c in against)} alone"]
    parts += [] if output is None else [f"output {output} alone"]
    return ", ".join([*parts, *([counted(len(rules), "rule")] if rules else [])])


def _verdict(comparison: "Comparison") -> list[str]:
    every = (*comparison.disagreements, *comparison.conflicts, *comparison.unequal)
    if every:
        return [f"disagreement: {found}" for found in every]
    unknown = sum(run.unknown for run in comparison.runs)
    verb = "is" if unknown == 1 else "are"
    about = " about whole checks" if comparison.task == "check" else ""
    left = f"; {counted(unknown, 'answer')}{about} {verb} unknown" if unknown else ""
    if len(comparison.runs) == 1:
        return [f"one run, nothing to hold it against{left}"]
    return [f"no two definite answers contradict each other{left}"]


def study_rows(times: "SolverTimes") -> list[tuple[str, ...]]:
    """Return the cells of each pair, the best first."""
    return [
        (
            one.pair.solver,
            one.pair.formulation,
            str(one.attempted),
            str(one.solved),
            str(one.fastest),
            *(_known(f"{value:.3f}") for value in (one.shifted_mean, one.whole_mean, one.par10)),
            _known(f"{one.ratio:.2f}"),
            _known(f"{one.ratio_low:.2f} to {one.ratio_high:.2f}"),
            _known(f"{one.p:.2g}"),
        )
        for one in times.summary()
    ]


def _known(text: str) -> str:
    return "–" if text.startswith("nan") else text


def study_table(times: "SolverTimes") -> Table:
    """Return a table without lines, a row for each pair."""
    return table_of_rows(STUDY_HEADS, study_rows(times), TEXTS)


def meaning(times: "SolverTimes") -> str:
    """Return the sentence that goes with the numbers."""
    limit = f"with a limit of {nearest(times.limit)} s each"
    if not times.limited:
        limit = f"without a limit, for which the longest time, {nearest(times.limit)} s, stands"
    text = (
        f"{counted(len(times.instances), 'program')} {limit}. Times are {_CLOCKS[times.clock]}; "
        "“all” is the wall-clock time of whole questions, replays included. Shifted geometric "
        f"means add {exact(times.shift)} s to each time and count an unanswered program as the "
        "limit; PAR10 counts it as ten times that; both are over the programs asked. Ratios of "
        "shifted means are to the best pair, over the programs that both were asked; the interval "
        "is by a bootstrap over checks, p by Wilcoxon's signed-rank test."
    )
    alone = len({pair.formulation for pair in times.pairs}) == 1
    rest = [one for one in times.summary()[1:] if not isnan(one.ratio)]
    likened = [one.pair for one in rest if not one.differs]
    same = [pair.solver if alone else f"{pair.solver} with {pair.formulation}" for pair in likened]
    if same:
        text += f" No difference from the best is shown for {joined(same)}."
    return text


@dataclass(frozen=True, slots=True)
class ColumnUse:
    """The part that one column plays; shares are between 0 and 1.

    ``needed`` is the share of decisions of each class whose explanation has the column, in the
    order of the classes, ``open`` of all decisions in which it is not decided if it is needed,
    ``no_part`` of those in which it is proven to be in no minimal explanation, ``still`` of those
    in which it stays as it is, which proves nothing. ``typical`` tells the values that are kept,
    or is empty.
    """

    name: str
    needed: tuple[float, ...]
    in_all: float
    open: float
    no_part: float
    still: float
    typical: str


@dataclass(frozen=True, slots=True)
class TableUse:
    """The part that columns play: ``classes`` are names with their numbers of decisions.

    ``columns`` begin with the one that is needed most often. ``question`` says what was asked.
    """

    columns: tuple[ColumnUse, ...]
    classes: tuple[tuple[str, int], ...]
    question: str

    @property
    def decisions(self) -> int:
        """Number of decisions."""
        return sum(count for _, count in self.classes)


def share_text(share: float) -> str:
    """Return ``"40 %"``, rounded down; a share below 1 % is not shown as none."""
    percent = 100 * share
    if 0 < percent < 1:
        return "under 1 %"
    if 99 < percent < 100:
        return "over 99 %"
    return f"{floor(percent + 1e-9)} %"  # 29.000…, of 0.29


def columns_headline(use: TableUse) -> str:
    """Return ``"What explains 40 decisions, by column"``."""
    return f"What explains {counted(use.decisions, 'decision')}, by column"


def columns_sentence(use: TableUse) -> str:
    """Return the columns needed most often, and those with no part, or held, in all decisions."""
    every = f"{counted(use.decisions, 'decision')} ({use.question})"
    top = [column for column in use.columns if column.in_all][:_MOST]
    texts = []
    if top:
        parts = [f"{column.name} in {share_text(column.in_all)}" for column in top]
        texts.append(f"Explanations of {every} have {joined(parts)} of the cases.")
    else:
        texts.append(f"No column is in an explanation of {every}.")
    never = [column.name for column in use.columns if column.no_part == 1]
    if never:
        verb = "plays" if len(never) == 1 else "play"
        listed = listed_texts(never, "other column", _MOST)
        texts.append(f"{listed} provably {verb} no part in any of them.")
    still = [column.name for column in use.columns if column.still == 1]
    if still:
        listed = listed_texts(still, "other column", _MOST)
        texts.append(f"Nothing is proven of the part of {listed}, held in all of them.")
    return printable(" ".join(texts))


def columns_table(use: TableUse) -> Table:
    """Return a rich table with a row for each column."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    heads = ["column", *(f"explains {name}" for name, _ in use.classes)]
    heads += ["not decided", "plays no part", "stays as it is", "typical values"]
    for place, head in enumerate(heads):
        right = 0 < place < len(heads) - 1
        table.add_column(Text(printable(head)), justify="right" if right else "left")
    for column in use.columns:
        shares = map(share_text, [*column.needed, column.open, column.no_part, column.still])
        cells = [column.name, *shares, column.typical]
        table.add_row(*(Text(printable(cell)) for cell in cells))
    return table
