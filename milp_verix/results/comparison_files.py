"""Comparisons as files: their types, their JSON, and CSV with a line for each run."""

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, TypeAlias, TypedDict, cast

from milp_verix.base.errors import InputError, printable, refusing
from milp_verix.base.files import replacing, written
from milp_verix.base.stored_kinds import Amount, Count, Indices, Norm, Prediction, Sha256
from milp_verix.oracle.verdict import Answer
from milp_verix.results.comparison import (
    Comparison,
    DecidedCheck,
    Disagreement,
    Pair,
    ProgramRecord,
    ProgramSize,
    Run,
    Skipped,
)

SCHEMA = 2
"""Number of the format; files of schema 1 had no programs."""

_ANSWERS: TypeAlias = Literal["holds", "violated", "unknown"]


class RunNumbers(TypedDict):
    """A run as a line of CSV."""

    solver: Annotated[str, "Name of the solver."]
    formulation: Annotated[str, "Encoding of ReLUs."]
    version: Annotated[str, "Version of the solver."]
    size: Annotated[Count | None, "Size of the explanation; None for checks."]
    holds: Annotated[Count, "Answers that hold."]
    violated: Annotated[Count, "Answers with a counterfactual."]
    unknown: Annotated[Count, "Answers that are unknown."]
    seconds: Annotated[Amount, "Wall-clock time in all."]
    build_seconds: Annotated[Amount, "Seconds that loading programs took."]
    solve_seconds: Annotated[Amount, "Seconds that solving took."]
    resolve_seconds: Annotated[Amount, "The part of it on programs solved before."]
    checks: Annotated[Count, "Checks answered."]
    builds: Annotated[Count, "Programs loaded."]
    solves: Annotated[Count, "Programs solved."]
    resolves: Annotated[Count, "Solves that were not the first on their program."]
    nodes: Annotated[Count | None, "Nodes of the solver; None where it tells none."]
    iterations: Annotated[Count | None, "Simplex iterations; None where it tells none."]
    handed_over: Annotated[Count, "Solves that another solver did, for want of a licence."]
    handed_to: Annotated[str | None, "That solver; None if there was none."]
    master: NotRequired[Annotated[str | None, "Of a minimum: the method that raised the bound."]]
    cost: NotRequired[
        Annotated[Amount | None, "Cost of a minimum or a contrast; None if there is none."]
    ]
    bound: NotRequired[Annotated[Amount | None, "Proven lower bound of it; None if there is none."]]
    programs: NotRequired[Annotated[Count, "Programs that the pair was given; 0 of explanations."]]
    solver_seconds: NotRequired[Annotated[Amount, "The seconds by the solver's own clock."]]


class PairNames(TypedDict):
    """A solver and a formulation."""

    solver: Annotated[str, "Name of the solver."]
    formulation: Annotated[str, "Encoding of ReLUs."]


class ProgramRow(PairNames):
    """A program by one pair; the fields of ``ProgramRecord``, and None where nobody tells them."""

    version: Annotated[str, "Version of the solver."]
    check: Annotated[Count, "Number of the check."]
    free: Annotated[Count, "Number of free features."]
    answer: Annotated[_ANSWERS, "The answer about this rival."]
    seconds: Annotated[Amount, "Wall-clock time of the question."]
    cpu_seconds: Annotated[Amount, "Processor time of it."]
    load_seconds: Annotated[Amount, "Seconds that loading programs took."]
    solve_seconds: Annotated[Amount, "Seconds that solving took."]
    solves: Annotated[Count, "Programs solved."]
    nodes: Annotated[Count | None, "Nodes of these solves."]
    iterations: Annotated[Count | None, "Simplex iterations of these solves."]
    status: Annotated[str | None, "End of the last solve."]
    bound: Annotated[float | None, "Dual bound at its end."]
    root_bound: Annotated[float | None, "Dual bound after its root node."]
    relaxation: Annotated[float | None, "Optimum of the linear relaxation."]
    first_seconds: Annotated[Amount | None, "Time to the first feasible point."]
    handed_to: Annotated[str | None, "Solver that took the program over."]
    reason: Annotated[str | None, "Why the answer is unknown."]
    columns: Annotated[Count | None, "Columns of the last program."]
    rows: Annotated[Count | None, "Rows of it."]
    binaries: Annotated[Count | None, "Integer columns of it."]
    largest_big_m: Annotated[Amount | None, "Its largest big-M."]
    least_coefficient: Annotated[
        Amount | None, "Its least coefficient above zero, as absolute value."
    ]
    largest_coefficient: Annotated[Amount | None, "Its largest coefficient."]
    nonzeros: NotRequired[Annotated[Count | None, "Entries of its matrix."]]
    rival: NotRequired[Annotated[Count, "Class, or margin of a regression, that is asked about."]]
    check_answer: NotRequired[Annotated[_ANSWERS, "The answer of the check, of all its rivals."]]
    digest: NotRequired[Annotated[str | None, "SHA-256 of the program with its cost."]]
    seed: NotRequired[Annotated[Count, "Seed and permutation; 0 for none."]]
    threads: NotRequired[Annotated[Count, "Threads that the solver may use."]]
    solver_seconds: NotRequired[Annotated[Amount, "Seconds by the solver's own clock."]]
    builds: NotRequired[Annotated[Count, "How often the program was built."]]
    changes: NotRequired[Annotated[Count, "Bounds and costs that were changed before the solve."]]
    incumbent: NotRequired[Annotated[float | None, "Cost of the best point."]]
    gap: NotRequired[Annotated[Amount | None, "Relative distance of bound and incumbent."]]
    verified: NotRequired[Annotated[str | None, "What the answer rests on."]]


class DecidedRow(TypedDict):
    """A check that bounds or an attack decided."""

    check: Annotated[Count, "Number of the check."]
    free: Annotated[Count, "Number of free features."]
    answer: Annotated[_ANSWERS, "The answer."]
    by: Annotated[str, "What decided it."]
    seconds: Annotated[Amount, "Seconds that it took."]


class RunRow(RunNumbers):
    """A run of one pair of solver and formulation."""

    trace: NotRequired[
        Annotated[
            tuple[tuple[Amount, Amount, Amount], ...],
            "Of a minimum: seconds, best cost and lower bound at each change.",
        ]
    ]
    parameters: NotRequired[
        Annotated[dict[str, Any], "All parameters of the solver that were set."]
    ]
    each: NotRequired[Annotated[tuple[ProgramRow, ...], "A row for each program."]]
    answers: Annotated[tuple[_ANSWERS, ...], "One for each check or feature."]
    stopped: Annotated[str | None, "Reason of an early end, or None."]
    notes: Annotated[tuple[str, ...], "Reservations."]


class SkippedPair(PairNames):
    """A pair without a run."""

    reason: Annotated[str, "Why there is none."]
    each: NotRequired[Annotated[tuple[ProgramRow, ...], "The programs that it was not given."]]


class Contradiction(TypedDict):
    """Two answers that contradict each other."""

    holding: Annotated[PairNames, "Pair that says that the check holds."]
    violated: Annotated[PairNames, "Pair with a point that refutes it."]
    free: Annotated[Indices, "Features that are free in the check."]
    margin: Annotated[Count, "Number of the margin."]
    reached: Annotated[float, "The margin at the point, above zero."]
    witness: Annotated[tuple[float, ...], "The point, flat."]


class ComparedModel(TypedDict):
    """The network that is compared on."""

    file: Annotated[str, "Name of the model's file."]
    sha256: Annotated[Sha256, "SHA-256 of the ONNX file, or of the model's content."]


class Machine(TypedDict):
    """The machine of a comparison, and the checkout."""

    processor: Annotated[str, "Model of the processor."]
    cores: Annotated[Count | None, "Number of its cores."]
    memory: Annotated[Amount | None, "Memory in GiB."]
    platform: Annotated[str, "System and its version."]
    commit: Annotated[str | None, "Commit of the checkout; None if it is none."]


class HowSolved(TypedDict):
    """How the programs of a comparison were made and solved, by the names of options."""

    bounds: Annotated[str, "Bounds on the neurons."]
    exactness: Annotated[str, "Whether programs are exact."]
    warm: Annotated[str, "What a solver keeps between programs."]
    segments: Annotated[Count, "Pieces around a smooth activation."]
    threads: Annotated[Count, "Threads of a solver."]
    seed: Annotated[int, "Seed of the search."]
    tolerances: Annotated[dict[str, float], "Distances that separate a proof from noise."]
    domain: Annotated[tuple[float | None, ...], "Ends of all domains; None is unlimited."]
    question: NotRequired[Annotated[Sha256, "Digest of it: radii, domains, groups, rules."]]
    dropped: Annotated[Amount, "Entries up to this size were dropped."]
    substitutes: Annotated[bool, "Whether another solver may take over what one cannot."]
    tangents: NotRequired[
        Annotated[bool, "Whether tangents stand for the quadratic row of an L2 ball."]
    ]


class ComparedChecks(TypedDict):
    """A comparison of solvers in the journal of a study."""

    model: Annotated[str, "Name of the model's file."]
    norm: Annotated[Norm, "Norm of the ball."]
    check_time_limit: Annotated[Amount | None, "Limit of each check in seconds, if there is one."]
    checks: Annotated[Count, "Number of checks that each pair was asked."]
    skipped: Annotated[tuple[SkippedPair, ...], "Pairs without a run."]
    disagreements: Annotated[tuple[str, ...], "Contradictions and unequal programs, in words."]
    each: Annotated[tuple[ProgramRow, ...], "A row for each program and pair."]
    machine: NotRequired[Annotated[Machine, "Where it ran."]]
    versions: NotRequired[Annotated[dict[str, str], "Versions of Python and of packages."]]
    command: NotRequired[Annotated[tuple[str, ...], "Arguments of the command, if there was one."]]
    options: NotRequired[Annotated[HowSolved, "How programs were made and solved."]]
    parameters: NotRequired[
        Annotated[dict[str, dict[str, Any]], "All that was set in solvers, by pair."]
    ]


class ComparisonFile(TypedDict):
    """Written by ``compare`` and ``Comparison.to_json``, and read by ``report``."""

    schema: Annotated[Literal[1, 2], "Number of the format: 1 had no programs."]
    kind: Annotated[Literal["comparison"], "Kind of the file."]
    model: Annotated[ComparedModel, "The network."]
    prediction: Annotated[Prediction, "The prediction explained."]
    epsilon: Annotated[Amount | None, "Radius of the ball; None is unlimited."]
    norm: Annotated[Norm, "Norm of the ball."]
    delta: Annotated[
        Amount | None, "Most that outputs of a regression may change; None for a class."
    ]
    against: Annotated[Indices | None, "Classes compared with the prediction; None for all others."]
    output: Annotated[Count | None, "The one output that a regression is about; None for all."]
    rules: Annotated[tuple[str, ...], "Rules between features."]
    features: Annotated[Count, "Number of features."]
    checks: Annotated[
        tuple[Indices, ...] | None,
        "The checks compared, as lists of free features; None where explanations were.",
    ]
    rounds: Annotated[Count, "Rounds, of which the one with the median time is told."]
    task: NotRequired[
        Annotated[Literal["check", "explain", "minimum", "contrastive"], "What each run did."]
    ]
    conflicts: NotRequired[
        Annotated[tuple[str, ...], "Lower bounds above the cost of another run, in words."]
    ]
    agree: Annotated[bool, "True if no two answers contradict each other."]
    stopped: Annotated[str | None, "Reason of an early end, or None."]
    runs: Annotated[tuple[RunRow, ...], "A run for each pair of solver and formulation."]
    skipped: Annotated[tuple[SkippedPair, ...], "Pairs without a run."]
    disagreements: Annotated[tuple[Contradiction, ...], "Answers that contradict each other."]
    input_sha256: NotRequired[Annotated[Sha256, "SHA-256 of the input's bytes."]]
    time_limit: NotRequired[Annotated[Amount | None, "Seconds for all of it, if limited."]]
    check_time_limit: NotRequired[Annotated[Amount | None, "Seconds for each program."]]
    seeds: NotRequired[Annotated[Count, "Seeds by which each program was solved."]]
    decided: NotRequired[
        Annotated[tuple[DecidedRow, ...], "Checks that no solver was asked about."]
    ]
    prepared_seconds: NotRequired[Annotated[Amount, "Seconds until the programs were listed."]]
    unequal: NotRequired[Annotated[tuple[str, ...], "Programs that pairs did not get alike."]]
    machine: NotRequired[Annotated[Machine, "Where it ran."]]
    versions: NotRequired[Annotated[dict[str, str], "Versions of Python and of packages."]]
    command: NotRequired[Annotated[tuple[str, ...], "Arguments of the command, if there was one."]]
    options: NotRequired[Annotated[HowSolved, "How programs were made and solved."]]


def write_json(
    comparison: Comparison, path: str | Path | None = None, *, indent: int | None = None
) -> str:
    """Return ``comparison`` as JSON text, and write it to ``path`` if given."""
    own = {
        "schema": SCHEMA,
        "kind": "comparison",
        "model": {"file": comparison.model, "sha256": comparison.sha256},
        "epsilon": _finite(comparison.epsilon),
        "runs": tuple(map(_run, comparison.runs)),
        "skipped": tuple(map(_skipped, comparison.skipped)),
        "disagreements": tuple(map(_disagreement, comparison.disagreements)),
        "decided": tuple(map(_decided, comparison.decided)),
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


def each_line(comparison: Comparison) -> list[dict[str, Any]]:
    """Return a mapping from ``EACH_COLUMNS`` for each check and run.

    Raises ``InputError`` for a comparison of explanations, whose checks differ.
    """
    if comparison.checks is None:
        raise InputError("explanations ask checks of their own: records of each need task='check'")
    about = {name: getattr(comparison, name) for name in _ABOUT}
    about |= {name: json.dumps(_plain(getattr(comparison, name))) for name in _SURROUNDINGS}
    lines = []
    pairs: tuple[Run | Skipped, ...] = (*comparison.runs, *comparison.skipped)
    for run in pairs:
        about["parameters"] = json.dumps(_plain(getattr(run, "parameters", {})))
        lines += [{**about, **row} for row in _programs(run)]
    return lines


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value


def compared_checks(comparison: Comparison) -> ComparedChecks:
    """Return what the journal of a study keeps of ``comparison``."""
    return {
        "model": comparison.model,
        "norm": cast(Norm, comparison.norm),
        "check_time_limit": comparison.check_time_limit,
        "checks": len(comparison.checks or ()),
        "skipped": tuple(map(_skipped, comparison.skipped)),
        "disagreements": (*map(str, comparison.disagreements), *comparison.unequal),
        "each": tuple(row for run in comparison.runs for row in _programs(run)),
        "machine": cast(Machine, _plain(comparison.machine)),
        "versions": dict(comparison.versions),
        "options": cast(HowSolved, _plain(comparison.options)),
        "parameters": {str(run.pair): dict(run.parameters) for run in comparison.runs},
    }


def _programs(run: Run | Skipped) -> Iterator[ProgramRow]:
    for one in run.each:
        own = {**_pair(run.pair), "version": getattr(run, "version", ""), **asdict(one)}
        size = own.pop("size") or dict.fromkeys(_SIZES)
        answers = {"answer": one.answer.value, "check_answer": one.check_answer.value}
        yield cast(ProgramRow, {**own, **size, **answers})


def record_of(row: Mapping[str, Any]) -> ProgramRecord:
    """Return the record that ``row`` was written of; ``InputError`` where a field is missing."""
    names = [one.name for one in fields(ProgramRecord) if one.name != "size"]
    with refusing("a row of the comparison lacks a field", KeyError, ValueError):
        given = {name: row[name] for name in names}
        given |= {name: Answer(row[name]) for name in ("answer", "check_answer")}
        size = None if row["columns"] is None else ProgramSize(*(row[name] for name in _SIZES))
    return ProgramRecord(**given, size=size)


def write_parquet(frame: Any, path: Path) -> None:
    """Write a frame as parquet; ``InputError`` where that cannot be done."""
    with refusing(f"cannot write {path}"), replacing(path) as target:
        try:
            frame.to_parquet(target, index=False)
        except ImportError as error:
            raise InputError(f"parquet needs pyarrow: pip install pyarrow ({error})") from error


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


def unescaped(cell: str) -> str:
    """Return the text that :func:`harmless` made ``cell`` of."""
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(_FORMULA) else cell


_NEW = ("programs", "solver_seconds")
COLUMNS = (*(name for name in RunNumbers.__annotations__ if name not in _NEW), *_NEW)
_LIMITS = ("time_limit", "check_time_limit")
_ABOUT = ("task", "model", "sha256", "input_sha256", "epsilon", "norm", *_LIMITS)
_SURROUNDINGS = ("machine", "versions", "command", "options")
_LATER = tuple(one.name for one in fields(ProgramRecord))[18:]
"""Columns since schema 2, behind those that there were."""
CSV_COLUMNS = (*COLUMNS, *_ABOUT, "stopped", "skipped")
_SIZES = tuple(one.name for one in fields(ProgramSize))
EACH_COLUMNS = (
    *_ABOUT,
    *("solver", "formulation", "version"),
    *(one.name for one in fields(ProgramRecord) if one.name not in ("size", *_LATER)),
    *(name for name in _SIZES if name != "nonzeros"),
    *_LATER,
    *("nonzeros", "parameters", *_SURROUNDINGS),
)


def record(run: Run) -> RunNumbers:
    """Return the numbers of ``run`` by the names in ``COLUMNS``."""
    own = {
        **_pair(run.pair),
        **{answer.value: run.count(answer) for answer in Answer},
        "cost": _finite(run.cost),
        "bound": _finite(run.bound),
    }
    left = [name for name in COLUMNS if name not in own]
    own |= {name: getattr(run if hasattr(run, name) else run.inside, name) for name in left}
    return cast(RunNumbers, {name: own[name] for name in COLUMNS})


def _run(run: Run) -> RunRow:
    answers = tuple(answer.value for answer in run.answers)
    left: dict[str, Any] = {"stopped": run.stopped, "notes": run.notes, "trace": run.trace}
    left |= {"parameters": dict(run.parameters), "each": tuple(_programs(run))}
    return cast(RunRow, {**record(run), "answers": answers, **left})


def _finite(cost: float | None) -> float | None:
    return None if cost is None or not math.isfinite(cost) else cost


def _pair(pair: Pair) -> PairNames:
    return {"solver": pair.solver, "formulation": pair.formulation}


def _skipped(skipped: Skipped) -> SkippedPair:
    return {**_pair(skipped.pair), "reason": skipped.reason, "each": tuple(_programs(skipped))}


def _decided(found: DecidedCheck) -> DecidedRow:
    return cast(DecidedRow, {**asdict(found), "answer": found.answer.value})


def _disagreement(found: Disagreement) -> Contradiction:
    return {
        "holding": _pair(found.holding),
        "violated": _pair(found.violated),
        "free": found.free,
        "margin": found.index,
        "reached": found.margin,
        "witness": tuple(found.witness.reshape(-1).astype(float).tolist()),
    }
