"""A comparison asked once more, or gone on with: its command, its programs, and what differs."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any, TypeAlias

from milp_verix.base.errors import InputError, listed, refusing
from milp_verix.base.number_text import counted, nearest
from milp_verix.oracle.verdict import TIME_LIMIT, Answer
from milp_verix.results.comparison import Comparison, Pair, ProgramRecord
from milp_verix.results.comparison_files import SCHEMA, ComparisonFile, record_of
from milp_verix.results.conversion import converted
from milp_verix.results.json_format import read_data

_FILES = (
    *("--json", "--csv", "--each", "--plot", "--save-checks", "--disagreements", "--journal"),
    "--resume",
)
"""Options by which a run writes files, or goes on from one."""
_CHOOSES = ("--most-checks", "--checks", "--order", "--transformation", "--traversal")
_MOST = 20
"""Differences of one kind that are listed."""


def question_of_record(record: Mapping[str, Any]) -> list[str]:
    """Return the arguments that ask the question of a record again, without its output files.

    What chose the checks is left out: the record holds them. Raises ``InputError`` for a record
    that no command wrote, or of many inputs.
    """
    command = list(record.get("command") or ())
    if record.get("kind") == "comparison" and record.get("schema") == 1:
        raise InputError(
            "--repeat needs the command, and a record of schema 1 has neither that nor the input, "
            "bounds, tolerances and limits; ask its question by compare MODEL INPUT --epsilon E "
            "--resume with this record, which takes over its checks"
        )
    if record.get("kind") != "comparison" or command[:1] != ["compare"]:
        raise InputError("--repeat takes the --json of a compare command of version 0.3 or later")
    _require_whole(record, "the record")
    without = (*_FILES, *(_CHOOSES if record["checks"] is not None else ()))
    kept, skip = [], False
    for argument in command:
        name = argument.partition("=")[0]
        if skip or name in without or argument in ("-q", "--quiet"):
            skip = not skip and name in without and "=" not in argument
            continue
        kept.append(argument)
    return kept


def _require_whole(record: Any, where: str) -> None:
    with refusing(f"{where} is no comparison that compare wrote", ValueError):
        converted(record, ComparisonFile)


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[list[str], bool]:
    """Return what differs between two records in lines, and whether a program or an answer does."""
    lines = [
        f"{part}: {name} was {was}, is {now}"
        for part in ("machine", "versions")
        for name, was, now in _changed(before.get(part, {}), after[part])
    ]
    old, new = _rows(before), _rows(after)
    unmatched = sorted(map(_named, old.keys() ^ new.keys()))
    programs = [_named(key) for key in old if key in new and _differ(old, new, key, "digest")]
    both = [key for key in old if key in new]
    answers = [
        f"{_named(key)}: was {old[key]['answer']}, is {new[key]['answer']}"
        for key in both
        if _differ(old, new, key, "answer")
    ]
    for what, found in (
        ("in one record alone", unmatched),
        ("another program", programs),
        ("another answer", answers),
    ):
        lines += [f"{what}: {one}" for one in found[:_MOST]]
        lines += [f"{what}: {len(found) - _MOST} more"] if len(found) > _MOST else []
    alike = len(both) - len(programs)
    lines.append(
        f"{counted(len(both), 'program')} in both records: {alike} with the same digest, "
        f"{len(both) - len(answers)} with the same answer"
    )
    for pair in dict.fromkeys(key[:2] for key in both if old[key].get("status") != "not run"):
        mine = [key for key in both if key[:2] == pair]
        was, now = (
            sum(rows[key].get("solver_seconds", 0.0) for key in mine) for rows in (old, new)
        )
        ratio = now / was if was else inf
        lines.append(
            f"{', '.join(pair)}: {nearest(was, 3)} s of the solver were, {nearest(now, 3)} s are "
            f"(× {nearest(ratio, 3)})"
        )
    return lines, bool(unmatched or programs or answers)


EarlierComparison: TypeAlias = Comparison | str | Path
"""A comparison, its JSON, or the path of a file of that."""

_QUESTION = (
    *("model", "input_sha256", "prediction", "epsilon", "norm", "delta", "against", "output"),
    *("rules", "features", "task", "check_time_limit", "options"),
)

_SCHEMA_1 = (
    "the earlier comparison is of schema 1: its checks are taken over, and all programs are solved "
    "anew; its input, bounds, tolerances and limits were not recorded, and are not compared"
)


@dataclass(frozen=True, slots=True, eq=False)
class EarlierPrograms:
    """An earlier comparison: its ``checks``, the ``programs`` that it answered, its ``parameters``.

    ``notes`` tell what its file does not hold.

    Programs with a counterfactual are not among them: no record holds the point that others' claims
    are compared with. Nor are those that failed, or that the end of the comparison cut short.
    """

    checks: tuple[tuple[int, ...], ...] | None = None
    programs: Mapping["_Key", ProgramRecord] = field(default_factory=dict)
    parameters: Mapping[Pair, Mapping[str, Any]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def of(self, pair: Pair, check: int, rival: int, seed: int) -> ProgramRecord | None:
        """Return what it holds of a program of one pair, or None."""
        return self.programs.get((pair.solver, pair.formulation, check, rival, seed))


def earlier_comparison(given: EarlierComparison, current: Comparison) -> EarlierPrograms:
    """Return what an earlier comparison holds of the ``current`` one.

    Raises ``InputError`` where it cannot be read, or is about other programs.
    """
    try:
        source = given.to_json() if isinstance(given, Comparison) else given
        before, where = read_data(source, SCHEMA, 1)
    except InputError as error:
        raise InputError(f"resume: {error}") from error
    if before.get("kind") != "comparison":
        raise InputError(f"resume takes a comparison, or the path of its JSON; {where} is none")
    _require_whole(before, f"resume: {where}")
    now, old = json.loads(current.to_json()), before["schema"] == 1
    told = [name for name in _QUESTION if name in before or not old]
    if other := [name for name in told if before.get(name) != now[name]]:
        raise InputError(
            "resume: the earlier comparison is about other programs, with another "
            f"{listed(other)}; ask the same, or leave resume out"
        )
    checks, limit = before["checks"], before.get("check_time_limit")
    if None not in (checks, now["checks"]) and checks != now["checks"]:
        raise InputError("resume: the earlier comparison is of other checks; leave checks out")
    kept = {key: record_of(row) for key, row in _rows(before).items()}
    return EarlierPrograms(
        None if checks is None else tuple(map(tuple, checks)),
        {key: one for key, one in kept.items() if _stands(one, limit)},
        {
            Pair(run["solver"], run["formulation"]): run.get("parameters", {})
            for run in before["runs"]
        },
        (_SCHEMA_1,) if old else (),
    )


def _stands(one: ProgramRecord, limit: float | None) -> bool:
    """Return whether an answer stands without another solve; ``limit`` is that of a program."""
    late = limit is not None and one.reason == TIME_LIMIT and one.seconds >= limit
    return one.answer is Answer.HOLDS or late


_Key = tuple[str, str, int, int, int]


def _rows(record: Mapping[str, Any]) -> dict[_Key, Mapping[str, Any]]:
    keys = ("solver", "formulation", "check", "rival", "seed")
    pairs = (*record["runs"], *record["skipped"])
    rows = [row for run in pairs for row in run.get("each", ())]
    return {tuple(row.get(name) for name in keys): row for row in rows}


def _differ(
    old: Mapping[_Key, Mapping[str, Any]], new: Mapping[_Key, Mapping[str, Any]], key: _Key, of: str
) -> bool:
    return bool(old[key].get(of) != new[key].get(of))


def _named(key: _Key) -> str:
    solver, formulation, check, rival, seed = key
    return f"{solver}, {formulation}, check {check}, rival {rival}, seed {seed}"


def _changed(
    before: Mapping[str, Any], after: Mapping[str, Any]
) -> Sequence[tuple[str, object, object]]:
    names = dict.fromkeys([*before, *after])
    return [(n, before.get(n), after.get(n)) for n in names if before.get(n) != after.get(n)]
