"""Comparisons as JSON, and as CSV with a line for each run."""

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict, cast

from milp_verix.base.errors import InputError, printable
from milp_verix.base.files import written
from milp_verix.base.stored_kinds import Amount, Count, Indices, Norm, Prediction, Sha256
from milp_verix.oracle.verdict import Answer
from milp_verix.results.comparison import (
    CheckRecord,
    Comparison,
    Disagreement,
    Pair,
    ProgramSize,
    Run,
    Skipped,
)


class RunNumbers(TypedDict):
    """A run as a line of CSV.

    Attributes:
        solver: Name of the solver.
        formulation: Encoding of ReLUs.
        version: Version of the solver.
        size: Size of the explanation; None for checks.
        holds: Answers that hold.
        violated: Answers with a counterfactual.
        unknown: Answers that are unknown.
        seconds: Wall-clock time in all.
        build_seconds: Seconds that loading programs took.
        solve_seconds: Seconds that solving took.
        resolve_seconds: The part of it on programs solved before.
        checks: Checks answered.
        builds: Programs loaded.
        solves: Programs solved.
        resolves: Solves that were not the first on their program.
        nodes: Nodes of the solver; None where it tells none.
        iterations: Simplex iterations; None where it tells none.
        handed_over: Solves that another solver did, for want of a licence.
        handed_to: That solver; None if there was none.
        master: Of a minimum: the method that raised the bound.
        cost: Cost of a minimum or a contrast; None if there is none.
        bound: Proven lower bound of it; None if there is none.
    """

    solver: str
    formulation: str
    version: str
    size: Count | None
    holds: Count
    violated: Count
    unknown: Count
    seconds: Amount
    build_seconds: Amount
    solve_seconds: Amount
    resolve_seconds: Amount
    checks: Count
    builds: Count
    solves: Count
    resolves: Count
    nodes: Count | None
    iterations: Count | None
    handed_over: Count
    handed_to: str | None
    master: NotRequired[str | None]
    cost: NotRequired[Amount | None]
    bound: NotRequired[Amount | None]


class RunRow(RunNumbers):
    """A run of one pair of solver and formulation.

    Attributes:
        answers: One for each check or feature.
        stopped: Reason of an early end, or None.
        notes: Reservations.
        trace: Of a minimum: seconds, best cost and lower bound at each change.
    """

    trace: NotRequired[tuple[tuple[Amount, Amount, Amount], ...]]
    answers: tuple[Literal["holds", "violated", "unknown"], ...]
    stopped: str | None
    notes: tuple[str, ...]


class PairNames(TypedDict):
    """A solver and a formulation.

    Attributes:
        solver: Name of the solver.
        formulation: Encoding of ReLUs.
    """

    solver: str
    formulation: str


class SkippedPair(PairNames):
    """A pair without a run.

    Attributes:
        reason: Why there is none.
    """

    reason: str


class CheckRow(PairNames):
    """One check by one pair; the fields of ``CheckRecord``, and None where nobody tells them.

    Attributes:
        version: Version of the solver.
        check: Number of the check.
        free: Number of free features.
        answer: The answer.
        seconds: Wall-clock time of the check.
        cpu_seconds: Processor time of the check.
        load_seconds: Seconds that loading programs took.
        solve_seconds: Seconds that solving took.
        solves: Programs solved.
        nodes: Nodes of these solves.
        iterations: Simplex iterations of these solves.
        status: End of the last solve.
        bound: Dual bound at its end.
        root_bound: Dual bound after its root node.
        relaxation: Optimum of the linear relaxation.
        first_seconds: Time to the first feasible point.
        handed_to: Solver that took the program over.
        reason: Why the answer is unknown.
        columns: Columns of the last program.
        rows: Rows of it.
        binaries: Integer columns of it.
        largest_big_m: Its largest big-M.
        least_coefficient: Its least coefficient above zero, as absolute value.
        largest_coefficient: Its largest coefficient.
    """

    version: str
    check: Count
    free: Count
    answer: Literal["holds", "violated", "unknown"]
    seconds: Amount
    cpu_seconds: Amount
    load_seconds: Amount
    solve_seconds: Amount
    solves: Count
    nodes: Count | None
    iterations: Count | None
    status: str | None
    bound: float | None
    root_bound: float | None
    relaxation: float | None
    first_seconds: Amount | None
    handed_to: str | None
    reason: str | None
    columns: Count | None
    rows: Count | None
    binaries: Count | None
    largest_big_m: Amount | None
    least_coefficient: Amount | None
    largest_coefficient: Amount | None


class ComparedChecks(TypedDict):
    """A comparison of solvers in the journal of a study.

    Attributes:
        model: Name of the model's file.
        norm: Norm of the ball.
        check_time_limit: Limit of each check in seconds, if there is one.
        checks: Number of checks that each pair was asked.
        skipped: Pairs without a run.
        disagreements: Answers that contradict each other, in words.
        each: A row for each check and pair.
    """

    model: str
    norm: Norm
    check_time_limit: Amount | None
    checks: Count
    skipped: tuple[SkippedPair, ...]
    disagreements: tuple[str, ...]
    each: tuple[CheckRow, ...]


class Contradiction(TypedDict):
    """Two answers that contradict each other.

    Attributes:
        holding: Pair that says that the check holds.
        violated: Pair with a point that refutes it.
        free: Features that are free in the check.
        margin: Number of the margin.
        reached: The margin at the point, above zero.
        witness: The point, flat.
    """

    holding: PairNames
    violated: PairNames
    free: Indices
    margin: Count
    reached: float
    witness: tuple[float, ...]


class ComparedModel(TypedDict):
    """The network that is compared on.

    Attributes:
        file: Name of the model's file.
        sha256: SHA-256 of the ONNX file, or of the model's content.
    """

    file: str
    sha256: Sha256


class ComparisonFile(TypedDict):
    """Written by ``compare`` and ``Comparison.to_json``, and read by ``report``.

    Attributes:
        schema: Number of the format.
        kind: Kind of the file.
        model: The network.
        prediction: The prediction explained.
        epsilon: Radius of the ball; None is unlimited.
        norm: Norm of the ball.
        delta: Most that outputs of a regression may change; None for a class.
        against: Classes compared with the prediction; None for all others.
        output: The one output that a regression is about; None for all.
        rules: Rules between features.
        features: Number of features.
        checks: The checks compared, as lists of free features; None where explanations were.
        rounds: Rounds, of which the one with the median time is told.
        task: What each run did.
        conflicts: Lower bounds above the cost of another run, in words.
        agree: True if no two answers contradict each other.
        stopped: Reason of an early end, or None.
        runs: A run for each pair of solver and formulation.
        skipped: Pairs without a run.
        disagreements: Answers that contradict each other.
    """

    schema: Literal[1]
    kind: Literal["comparison"]
    model: ComparedModel
    prediction: Prediction
    epsilon: Amount | None
    norm: Norm
    delta: Amount | None
    against: Indices | None
    output: Count | None
    rules: tuple[str, ...]
    features: Count
    checks: tuple[Indices, ...] | None
    rounds: Count
    task: NotRequired[Literal["check", "explain", "minimum", "contrastive"]]
    conflicts: NotRequired[tuple[str, ...]]
    agree: bool
    stopped: str | None
    runs: tuple[RunRow, ...]
    skipped: tuple[SkippedPair, ...]
    disagreements: tuple[Contradiction, ...]


def write_json(
    comparison: Comparison, path: str | Path | None = None, *, indent: int | None = None
) -> str:
    """Return ``comparison`` as JSON text, and write it to ``path`` if given."""
    own = {
        "schema": 1,
        "kind": "comparison",
        "model": {"file": comparison.model, "sha256": comparison.sha256},
        "epsilon": _finite(comparison.epsilon),
        "runs": tuple(map(_run, comparison.runs)),
        "skipped": tuple(map(_skipped, comparison.skipped)),
        "disagreements": tuple(map(_disagreement, comparison.disagreements)),
    }
    names = ComparisonFile.__annotations__
    data = {name: own[name] if name in own else getattr(comparison, name) for name in names}
    text = json.dumps(data, indent=indent, allow_nan=False)
    return written(text, path)


def write_csv(comparison: Comparison, path: str | Path | None = None) -> str:
    """Return ``comparison`` as CSV text, and write it to ``path`` if given.

    A line for each pair that was skipped follows, with the reason. What a solver does not tell is
    empty. A text that a spreadsheet would run as a formula has an apostrophe before it.
    """
    about = {name: getattr(comparison, name) for name in _ABOUT}
    lines: list[dict[str, Any]] = [
        {**record(run), **about, "stopped": run.stopped} for run in comparison.runs
    ]
    lines += [{**_pair(left.pair), **about, "skipped": left.reason} for left in comparison.skipped]
    return written_as_csv(CSV_COLUMNS, lines, path)


def write_each(comparison: Comparison, path: str | Path | None = None) -> str:
    """Return a line for each check and run as CSV text, and write it to ``path`` if given."""
    return written_as_csv(EACH_COLUMNS, each_line(comparison), path)


def each_line(comparison: Comparison) -> list[dict[str, Any]]:
    """Return a mapping from ``EACH_COLUMNS`` for each check and run.

    Raises ``InputError`` for a comparison of explanations, whose checks differ.
    """
    if comparison.checks is None:
        raise InputError("explanations ask checks of their own: records of each need task='check'")
    about = {name: getattr(comparison, name) for name in _ABOUT}
    return [
        {**about, **_pair(run.pair), "version": run.version, **_flat(check)}
        for run in comparison.runs
        for check in run.each
    ]


def compared_checks(comparison: Comparison) -> ComparedChecks:
    """Return what the journal of a study keeps of ``comparison``."""
    return {
        "model": comparison.model,
        "norm": cast(Norm, comparison.norm),
        "check_time_limit": comparison.check_time_limit,
        "checks": len(comparison.checks or ()),
        "skipped": tuple(map(_skipped, comparison.skipped)),
        "disagreements": tuple(map(str, comparison.disagreements)),
        "each": tuple(
            cast(CheckRow, {**_pair(run.pair), "version": run.version, **_flat(check)})
            for run in comparison.runs
            for check in run.each
        ),
    }


def _flat(check: CheckRecord) -> dict[str, Any]:
    own = {one.name: getattr(check, one.name) for one in fields(check)}
    size = own.pop("size")
    told = dict.fromkeys(_SIZES) if size is None else asdict(size)
    return {**own, **told, "answer": check.answer.value}


def written_as_csv(
    columns: Sequence[str], lines: Sequence[Mapping[str, Any]], path: str | Path | None = None
) -> str:
    """Return ``lines`` as CSV text, without formulas, and write it to ``path`` if given."""
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: harmless(value) for name, value in line.items()} for line in lines)
    text = out.getvalue()
    return written(text, path)


_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def harmless(value: Any) -> Any:
    """Return a cell that no spreadsheet or terminal obeys; numbers stay as they are."""
    value = printable(value) if isinstance(value, str) else value
    if not isinstance(value, str) or not value.startswith(_FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def told(cell: str) -> str:
    """Return the text that :func:`harmless` made ``cell`` of."""
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(_FORMULA) else cell


COLUMNS = tuple(RunNumbers.__annotations__)
_ABOUT = (
    "task",
    "model",
    "sha256",
    "input_sha256",
    "epsilon",
    "norm",
    "time_limit",
    "check_time_limit",
)
CSV_COLUMNS = (*COLUMNS, *_ABOUT, "stopped", "skipped")
_SIZES = tuple(one.name for one in fields(ProgramSize))
EACH_COLUMNS = (
    *_ABOUT,
    *("solver", "formulation", "version"),
    *(one.name for one in fields(CheckRecord) if one.name != "size"),
    *_SIZES,
)


def record(run: Run) -> RunNumbers:
    """Return the numbers of ``run`` by the names in ``COLUMNS``."""
    own = {
        **_pair(run.pair),
        **{answer.value: run.count(answer) for answer in Answer},
        "cost": _finite(run.cost),
        "bound": _finite(run.bound),
    }
    parts = {
        name: own[name] if name in own else getattr(run if hasattr(run, name) else run.inside, name)
        for name in COLUMNS
    }
    return cast(RunNumbers, parts)


def _run(run: Run) -> RunRow:
    answers = tuple(answer.value for answer in run.answers)
    left = {"stopped": run.stopped, "notes": run.notes, "trace": run.trace}
    return cast(RunRow, {**record(run), "answers": answers, **left})


def _finite(cost: float | None) -> float | None:
    return None if cost is None or not math.isfinite(cost) else cost


def _pair(pair: Pair) -> PairNames:
    return {"solver": pair.solver, "formulation": pair.formulation}


def _skipped(skipped: Skipped) -> SkippedPair:
    return {**_pair(skipped.pair), "reason": skipped.reason}


def _disagreement(found: Disagreement) -> Contradiction:
    return {
        "holding": _pair(found.holding),
        "violated": _pair(found.violated),
        "free": found.free,
        "margin": found.index,
        "reached": found.margin,
        "witness": tuple(found.witness.reshape(-1).astype(float).tolist()),
    }
