"""Comparisons as JSON, and as CSV with a line for each run."""

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, cast

from milp_verix.base.errors import InputError, printable
from milp_verix.base.files import written
from milp_verix.base.stored_kinds import Norm
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
from milp_verix.results.comparison_file import (
    CheckRow,
    ComparedChecks,
    ComparisonFile,
    Contradiction,
    PairNames,
    RunNumbers,
    RunRow,
    SkippedPair,
)


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
    own = asdict(check)
    size = own.pop("size") or dict.fromkeys(_SIZES)
    return {**own, **size, "answer": check.answer.value}


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
_LIMITS = ("time_limit", "check_time_limit")
_ABOUT = ("task", "model", "sha256", "input_sha256", "epsilon", "norm", *_LIMITS)
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
    left = [name for name in COLUMNS if name not in own]
    own |= {name: getattr(run if hasattr(run, name) else run.inside, name) for name in left}
    return cast(RunNumbers, {name: own[name] for name in COLUMNS})


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
