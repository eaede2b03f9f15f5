"""The result of a comparison: answers of pairs of a solver and a formulation, and their cost."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from milp_verix.base.arguments import INTEGER, PATH, checked, path_of
from milp_verix.base.comparable import Answering, Compared
from milp_verix.base.errors import InputError
from milp_verix.base.files import replacing
from milp_verix.base.number_text import counted, exact
from milp_verix.base.stored_kinds import Prediction
from milp_verix.oracle.verdict import Answer, Verdict
from milp_verix.results import shown
from milp_verix.results.explanation import Explanation

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from rich.table import Table

    from verix_encodings import Encoding


@dataclass(frozen=True, slots=True)
class ProgramSize:
    """The size of a program, and the range of its numbers, as in ``ProgramRow``; 0.0 for none."""

    columns: int
    rows: int
    binaries: int
    nonzeros: int
    largest_big_m: float
    least_coefficient: float
    largest_coefficient: float


@dataclass(frozen=True, slots=True)
class DecidedCheck:
    """Check number ``check``, with ``free`` free features, that no solver was asked about.

    ``by`` says what decided it, once for all pairs: bounds or an attack, in ``seconds``.
    """

    check: int
    free: int
    answer: Answer
    by: str
    seconds: float


@dataclass(frozen=True, slots=True)
class ProgramRecord:
    """A program that one pair was given: a check, and one ``rival`` of its prediction.

    Its fields are described in :class:`~milp_verix.results.comparison_files.ProgramRow`. ``digest``
    is :meth:`.Program.digest` of what every solver got: by ``seed`` 0 as it stands, by others
    permuted and with that seed of the solver. Engines without programs have no digest, and no
    solve.

    The fields from ``status`` on are about the last minimisation, in terms of its cost, which is
    what ``export`` writes. HiGHS finds ``relaxation`` outside of the times. ``solver_seconds`` are
    ``solve_seconds`` where a solver has no clock; None stands for all else that it does not tell.
    """

    check: int
    free: int
    answer: Answer
    seconds: float
    cpu_seconds: float
    load_seconds: float
    solve_seconds: float
    solves: int
    nodes: int | None = None
    iterations: int | None = None
    status: str | None = None
    bound: float | None = None
    root_bound: float | None = None
    relaxation: float | None = None
    first_seconds: float | None = None
    size: ProgramSize | None = None
    handed_to: str | None = None
    reason: str | None = None
    rival: int = 0
    check_answer: Answer = Answer.UNKNOWN
    digest: str | None = None
    seed: int = 0
    threads: int = 1
    solver_seconds: float = 0.0
    builds: int = 0
    changes: int = 0
    incumbent: float | None = None
    gap: float | None = None
    verified: str | None = None


@dataclass(frozen=True, slots=True)
class Pair:
    """A solver and the formulation it is given, by their names."""

    solver: str
    formulation: str

    def __str__(self) -> str:
        return f"{self.solver}, {self.formulation}"


@dataclass(frozen=True, slots=True)
class Skipped:
    """A pair that has no result, and why; ``each`` are the programs that it was not given."""

    pair: Pair
    reason: str
    each: tuple[ProgramRecord, ...] = ()

    def __str__(self) -> str:
        return f"{self.pair}: {self.reason}"


@dataclass(frozen=True, slots=True)
class SolverTime:
    """Seconds spent inside a solver's sessions, and on what; changes of bounds count as building.

    A solver that reads a file at each minimisation builds while it solves.
    """

    builds: int = 0
    build_seconds: float = 0.0
    solves: int = 0
    solve_seconds: float = 0.0
    resolves: int = 0
    resolve_seconds: float = 0.0
    solver_seconds: float = 0.0

    def __add__(self, other: "SolverTime") -> "SolverTime":
        pairs = zip(astuple(self), astuple(other), strict=True)
        return SolverTime(*(one + more for one, more in pairs))


@dataclass(frozen=True, slots=True, eq=False)
class Run(Compared):
    """The answers of one pair, and the effort that they took.

    ``answers`` holds one for each check, or, of an explanation, one for each feature: ``HOLDS`` for
    an irrelevant one, ``VIOLATED`` for one with a counterfactual. ``seconds`` is the wall-clock
    time in all, ``inside`` the part of it inside the solver. A run has either an ``explanation``
    or, if checks were compared, their ``verdicts``, and a record of ``each`` program. ``cost`` and
    ``bound`` are infinite if there is proven to be no contrast; ``trace`` has the seconds, the best
    cost and the bound at each change. :class:`.RunRow` tells the other fields.
    """

    __module__ = "milp_verix"

    pair: Pair
    version: str
    answers: tuple[Answer, ...]
    checks: int
    solves: int
    nodes: int | None
    iterations: int | None
    seconds: float
    inside: SolverTime
    stopped: str | None = None
    notes: tuple[str, ...] = ()
    explanation: Explanation | None = None
    verdicts: tuple[Verdict, ...] = ()
    handed_over: int = 0
    handed_to: str | None = None
    each: tuple[ProgramRecord, ...] = ()
    master: str | None = None
    cost: float | None = None
    bound: float | None = None
    trace: tuple[tuple[float, float, float], ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def count(self, answer: Answer) -> int:
        """Return how many of the answers are ``answer``; of programs, by seed 0, where compared."""
        if self.explanation is None:
            return sum(one.answer is answer for one in self.each if one.seed == 0)
        return self.answers.count(answer)

    @property
    def programs(self) -> int:
        """Number of programs that the pair was given; 0 where explanations were compared."""
        return sum(one.seed == 0 for one in self.each)

    @property
    def size(self) -> int | None:
        """Number of features in the explanation; None where checks were compared."""
        return None if self.explanation is None else self.explanation.size

    @property
    def unknown(self) -> int:
        """Number of checks, or of features, that were not decided."""
        return self.answers.count(Answer.UNKNOWN)


@dataclass(frozen=True, slots=True, eq=False)
class Disagreement(Compared):
    """One pair claims that a check holds, and another has a point that refutes it.

    ``free`` are the features of the check. The point, ``witness``, lies in the ball, moves none but
    these, was replayed in onnxruntime, and has the margin numbered ``index`` at ``margin`` > 0 in
    float64: so ``holding`` is wrong. ``encoding`` is the program of the check.
    """

    holding: Pair
    violated: Pair
    free: tuple[int, ...]
    witness: NDArray[Any]
    index: int
    margin: float
    encoding: "Encoding" = field(compare=False)

    def write(self, path: str | Path) -> None:
        """Write the check as a program, ``.lp`` or ``.mps``, for any solver.

        Its least cost is ``encoding.output.constant[index]`` minus the greatest margin. Raises
        ``InputError`` for a path that cannot be written.
        """
        row, _ = self.encoding.output.row(self.index, self.encoding.program.columns)
        try:
            with replacing(Path(path)) as target:
                self.encoding.program.write(target, -row)
        except ValueError as error:
            raise InputError(str(error)) from error

    def __str__(self) -> str:
        constant = float(self.encoding.output.constant[self.index])
        free = counted(len(self.free), "feature")
        return (
            f"{self.holding} says that a check on {free} holds, which a "
            f"counterfactual of {self.violated} refutes: margin {self.index} is {self.margin:.6g} "
            f"there, so the least cost is at most {constant - self.margin:.17g}"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Comparison(Answering, Compared):
    """The same question to several pairs of solver and formulation.

    ``checks`` are those compared, each the free ones of ``features`` features; None where
    explanations were. ``runs`` are in the order asked for; of several ``rounds``, the run with the
    median time. ``stopped`` is ``"interrupted"`` after Ctrl-C, or the limit that left checks out.
    ``against``, ``output`` and the ``rules``, as texts, narrow the question. ``time_limit`` holds
    for the whole comparison, in seconds, ``check_time_limit`` for each program, or for each check
    of an explanation.

    ``decided`` are the checks that bounds or an attack decided, once, in ``prepared_seconds`` with
    those that they left open. Each program was solved with ``seeds`` seeds. ``machine``,
    ``versions`` and ``command`` say where and how; ``options`` are those of the search.
    """

    __module__ = "milp_verix"

    model: str
    sha256: str
    prediction: Prediction
    epsilon: float
    norm: str
    delta: float | None
    checks: tuple[tuple[int, ...], ...] | None
    features: int
    rounds: int
    runs: tuple[Run, ...]
    skipped: tuple[Skipped, ...] = ()
    disagreements: tuple[Disagreement, ...] = ()
    stopped: str | None = None
    against: tuple[int, ...] | None = None
    output: int | None = None
    rules: tuple[str, ...] = ()
    input_sha256: str = ""
    time_limit: float | None = None
    check_time_limit: float | None = None
    task: str = "check"
    seeds: int = 1
    decided: tuple[DecidedCheck, ...] = ()
    prepared_seconds: float = 0.0
    machine: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def programs(self) -> int:
        """The most programs that a pair was given."""
        return max((run.programs for run in self.runs), default=0)

    @property
    def empty(self) -> str | None:
        """Why there is nothing to compare, in a sentence; None if there is something."""
        if self.task != "check" or any(run.each for run in self.runs):
            return None
        if not self.runs:
            return f"No pair answered anything: {'; '.join(map(str, self.skipped))}."
        counts = Counter(one.by for one in self.decided if one.answer is not Answer.UNKNOWN)
        decided = " and ".join(f"{by} decided {counted(n, 'check')}" for by, n in counts.items())
        stopped = self.stopped or next((run.stopped for run in self.runs if run.stopped), None)
        if stopped is None:
            left = len(self.checks or ()) - counts.total()
            why = decided or "bounds and an attack decided every check"
            if left:
                why += f", and exactness='bounds' makes none for {counted(left, 'check')}"
            return f"There is no program to compare solvers by: {why}."
        ended = f"; {decided} by then" if decided else ""
        return f"No program was listed before the end ({stopped}){ended}."

    @property
    def unequal(self) -> tuple[str, ...]:
        """The programs that pairs of one formulation did not get alike, in words."""
        known: dict[tuple[int, int, str], tuple[str, Pair]] = {}
        found = []
        for run in self.runs:
            for one in run.each:
                if one.digest is None:
                    continue
                key = one.check, one.rival, run.pair.formulation
                digest, pair = known.setdefault(key, (one.digest, run.pair))
                if digest != one.digest:
                    found.append(
                        f"{pair} and {run.pair} got two programs for check {one.check}, rival "
                        f"{one.rival}: {digest[:12]}… and {one.digest[:12]}…"
                    )
        return tuple(found)

    @property
    def conflicts(self) -> tuple[str, ...]:
        """The lower bounds that are above the cost of another run, in words."""
        found = [(run, other) for run in self.runs for other in self.runs]
        return tuple(
            f"{run.pair} proves that no result costs less than {exact(run.bound)}, and "
            f"{other.pair} has one that costs {exact(other.cost)}"
            for run, other in found
            if run.bound is not None and other.cost is not None
            if run.bound > other.cost * (1 + 1e-9) + 1e-9
        )

    @property
    def agree(self) -> bool:
        """True if no two definite verdicts contradict each other, no bound a result, no program."""
        return not (self.disagreements or self.conflicts or self.unequal)

    @property
    def complete(self) -> bool:
        """True if every run decided everything, and no limit left checks out."""
        return self.stopped is None and not any(run.unknown or run.stopped for run in self.runs)

    def __repr__(self) -> str:
        every = (*self.disagreements, *self.conflicts, *self.unequal)
        state = counted(len(every), "disagreement") if every else "all agree"
        return f"Comparison({self.model}: {counted(len(self.runs), 'run')}, {state})"

    @checked(path=PATH.or_none(), indent=INTEGER.or_none())
    def to_json(self, path: str | Path | None = None, *, indent: int | None = None) -> str:
        """Return the comparison as JSON, and write it to ``path`` if given."""
        return shown.comparison_files.write_json(self, path, indent=indent)

    def to_csv(self, path: str | Path | None = None) -> str:
        """Return a line for each run as CSV, and write it to ``path`` if given."""
        return shown.comparison_files.write_csv(self, path)

    def each_to_csv(self, path: str | Path | None = None) -> str:
        """Return a line for each program and run as CSV, and write it to ``path`` if given.

        The columns are the fields of :class:`~milp_verix.results.comparison.ProgramRecord`; what a
        solver does not tell is empty. A ``path`` that ends in ``.parquet`` gets the same as
        parquet. Raises ``InputError`` for a comparison of explanations, whose checks differ.
        """
        files = shown.comparison_files
        if path is not None and path_of(path, "path").suffix == ".parquet":
            files.write_parquet(self.each(), Path(path))
            path = None
        return files.written_as_csv(files.EACH_COLUMNS, files.each_line(self), path)

    def each(self) -> "pd.DataFrame":
        """Return the same as a pandas DataFrame: a row for each program and run.

        Raises as :meth:`each_to_csv` does, and ``InputError`` where pandas is not installed.
        """
        from milp_verix.inputs.frame import pandas

        columns = shown.comparison_files.EACH_COLUMNS
        return pandas().DataFrame(shown.comparison_files.each_line(self), columns=list(columns))

    def table(self) -> "Table":
        """Return a rich table with a row for each run."""
        return shown.text_tables.comparison_table(self)

    def plot(self, path: str | Path | None = None) -> "Figure":
        """Draw how long each run took, and on what; write it to ``path`` if given."""
        return shown.plot.plot_comparison(self, path)

    def write_disagreements(self, folder: str | Path = ".") -> list[Path]:
        """Write each disagreement to ``disagreement-N.lp`` in ``folder``; return the paths."""
        paths = [Path(folder) / f"disagreement-{i + 1}.lp" for i in range(len(self.disagreements))]
        for disagreement, path in zip(self.disagreements, paths, strict=True):
            disagreement.write(path)
        return paths

    def _repr_html_(self) -> str:
        return shown.result_page.comparison_html(self)
