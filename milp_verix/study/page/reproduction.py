"""The command that makes a study again, and the hashes of what it read and wrote."""

import hashlib
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from milp_verix.base.errors import refusing
from milp_verix.study.page.rows import Settings, TaskRow
from milp_verix.study.tasks import FUNCTIONS, settings_of


def command(
    rows: Sequence[TaskRow], settings: Settings, journal: str, models: Sequence[str]
) -> str:
    """Return the command line of a study, with the arguments that differ from the defaults.

    ``models`` are the names of the networks' files, as far as they are known. Arrays and lists
    that a record holds as a hash, and the inputs, are names in capitals.
    """
    parts = [
        ["milp-verix", "batch"],
        [_file(models[0], "MODEL") if len(models) == 1 else "MODEL"],
        ["INPUTS"],
        ["--epsilon", ",".join(str(radius) for radius in settings.radii)],
        ["--indices", ranges(sorted({row.index for row in rows}))],
        ["--journal", _file(journal, "JOURNAL")],
    ]
    if settings.tasks != ("explain",):
        parts.append(["--task", ",".join(settings.tasks)])
    defaults = _defaults(settings.tasks)
    told: dict[str, list[Any]] = {}
    for setting in {id(row.setting): row.setting for row in rows}.values():
        for name, value in setting.items():
            # other names are no arguments of these tasks, and might be options that write files
            if name in defaults and (value != defaults[name] or name in settings.varies):
                told.setdefault(name, []).append(value)
    for name, values in told.items():
        parts += _option(name, values)
    return " \\\n  ".join(shlex.join(_printable(part)) for part in parts)


def _file(name: str, told_as: str) -> str:
    """Return the name of a file as an argument that is no option."""
    if not name.isprintable():
        return told_as
    return f"./{name}" if name.startswith("-") else name


def _printable(part: Sequence[str]) -> list[str]:
    """Return an option and its values; capitals for a value that a terminal might obey."""
    capitals = part[0].lstrip("-").replace("-", "_").upper()
    return [text if text.isprintable() else capitals for text in part]


def _option(name: str, values: Sequence[Any]) -> list[list[str]]:
    option, kinds = f"--{name.replace('_', '-')}", list(dict.fromkeys(map(str, values)))
    value = values[0]
    if name == "domain" and isinstance(value, list):
        return [[option, *map(str, value)]]
    if name == "image_shape" and isinstance(value, list):
        return [[option, ",".join(map(str, value))]]
    if isinstance(value, list | Mapping) or value is None:
        return [] if value is None else [[option, name.upper()]]
    return [[option, ",".join(kinds)]]


def _defaults(tasks: Iterable[str]) -> dict[str, Any]:
    """Return the defaults of the arguments that these kinds of tasks have."""
    found: dict[str, Any] = {}
    for task in tasks:
        if task in FUNCTIONS:
            found |= settings_of([task], {"epsilon": [0.0]}, {})[0].told
    return found


def ranges(indices: Sequence[int]) -> str:
    """Return ascending indices as ``--indices`` has them: ``0:3,7,9:12``."""
    runs: list[list[int]] = []
    for index in indices:
        if runs and runs[-1][-1] + 1 == index:
            runs[-1][1:] = [index]
        else:
            runs.append([index])
    return ",".join(str(r[0]) if len(r) == 1 else f"{r[0]}:{r[-1] + 1}" for r in runs)


def hashes(journal: Path) -> list[tuple[str, str]]:
    """Return the name and the SHA-256 of each file of the journal."""
    files = sorted(journal.glob("*.jsonl")) if journal.is_dir() else [journal]
    with refusing(f"cannot read {journal}"):
        return [(file.name, _hash(file)) for file in files]


def _hash(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
