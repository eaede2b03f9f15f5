"""A comparison asked once more: its command without its files, and what differs between records."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

from milp_verix.base.errors import InputError
from milp_verix.base.number_text import counted, nearest

_WRITES = ("--json", "--csv", "--each", "--plot", "--save-checks", "--disagreements", "--journal")
_CHOOSES = ("--most-checks", "--checks", "--order", "--transformation", "--traversal")
_MOST = 20
"""Differences of one kind that are listed."""


def question_of_record(record: Mapping[str, Any]) -> list[str]:
    """Return the arguments that ask the question of a record again, without its output files.

    What chose the checks is left out: the record holds them. Raises ``InputError`` for a record
    that no command wrote, or of many inputs.
    """
    command = list(record.get("command") or ())
    if record.get("kind") != "comparison" or command[:1] != ["compare"]:
        raise InputError("--repeat takes the --json of a compare command of version 0.3 or later")
    without = (*_WRITES, *(_CHOOSES if record["checks"] is not None else ()))
    kept, skip = [], False
    for argument in command:
        name = argument.partition("=")[0]
        if skip or name in without or argument in ("-q", "--quiet"):
            skip = not skip and name in without and "=" not in argument
            continue
        kept.append(argument)
    return kept


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[list[str], bool]:
    """Return what differs between two records in lines, and whether a program or an answer does."""
    lines = [
        f"{part}: {name} was {was}, is {now}"
        for part in ("machine", "versions")
        for name, was, now in _changed(before[part], after[part])
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
    for pair in dict.fromkeys(key[:2] for key in both):
        mine = [key for key in both if key[:2] == pair]
        was, now = (sum(rows[key]["solver_seconds"] for key in mine) for rows in (old, new))
        ratio = now / was if was else inf
        lines.append(
            f"{', '.join(pair)}: {nearest(was, 3)} s of the solver were, {nearest(now, 3)} s are "
            f"(× {nearest(ratio, 3)})"
        )
    return lines, bool(unmatched or programs or answers)


_Key = tuple[str, str, int, int, int]


def _rows(record: Mapping[str, Any]) -> dict[_Key, Mapping[str, Any]]:
    keys = ("solver", "formulation", "check", "rival", "seed")
    rows = [row for run in record["runs"] for row in run.get("each", ())]
    return {tuple(row[name] for name in keys): row for row in rows}


def _differ(
    old: Mapping[_Key, Mapping[str, Any]], new: Mapping[_Key, Mapping[str, Any]], key: _Key, of: str
) -> bool:
    return bool(old[key][of] != new[key][of])


def _named(key: _Key) -> str:
    solver, formulation, check, rival, seed = key
    return f"{solver}, {formulation}, check {check}, rival {rival}, seed {seed}"


def _changed(
    before: Mapping[str, Any], after: Mapping[str, Any]
) -> Sequence[tuple[str, object, object]]:
    names = dict.fromkeys([*before, *after])
    return [(n, before.get(n), after.get(n)) for n in names if before.get(n) != after.get(n)]
