"""The programs of many checks as files for other people: LP and MPS, with a manifest."""

from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from milp_verix.base.errors import InputError, refusing
from milp_verix.base.files import replacing
from milp_verix.comparison.timed_solver import size_of
from milp_verix.oracle.check_program import encode_problem
from milp_verix.problem.problem import ProblemData
from milp_verix.problem.search import Search
from milp_verix.results.comparison_files import written_as_csv
from verix_encodings import Program
from verix_encodings.arrays import FloatArray

SUFFIXES = (".mps", ".lp")
COLUMNS = (
    *("file", "sha256", "digest", "check", "rival", "free", "formulation", "constant"),
    *("columns", "rows", "binaries", "nonzeros", "largest_big_m"),
)
"""Columns of the manifest: a line for each file, whose margin is ``constant`` minus the cost."""


def write_programs(
    problem: ProblemData,
    checks: Sequence[Sequence[int]],
    rival: int | None,
    search: Search,
    folder: Path,
    *,
    quadratic: bool = False,
    comments: Sequence[str] = (),
) -> int:
    """Write the programs of ``checks`` for one ``rival``, or all, and ``manifest.csv``.

    Files are ``checkNNN-rivalK.mps`` and ``.lp``; a format that cannot say a program has no file of
    it. Returns the number of files. Raises ``InputError`` for a folder that cannot be made, a rival
    that there is none of, and where no format says a program.
    """
    with refusing(f"cannot make the folder {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
    lines: list[dict[str, Any]] = []
    for number, free in enumerate(checks):
        encoding = encode_problem(problem, free, quadratic=quadratic, search=search)
        rivals = rivals_of(problem, encoding.output.constant.size)
        if rival is not None and rival not in rivals:
            raise InputError(f"the rival {rival} is none of {', '.join(map(str, rivals))}")
        for index, name in enumerate(rivals):
            if rival not in (None, name):
                continue
            row, constant = encoding.output.row(index, encoding.program.columns)
            about = {
                "check": number,
                "rival": name,
                "free": len(free),
                "constant": constant,
                "formulation": search.formulation,
                "digest": encoding.program.digest(-row),
                **_size(encoding.program),
            }
            said = (*comments, f"check {number}, rival {name}: margin = {constant:.17g} - cost")
            stem = f"check{number:03d}-rival{name}"
            lines += [
                {"file": path.name, "sha256": sha256(path.read_bytes()).hexdigest(), **about}
                for path in _written(encoding.program, -row, folder / stem, said)
            ]
    written_as_csv(COLUMNS, lines, folder / "manifest.csv")
    return len(lines)


def rivals_of(problem: ProblemData, margins: int) -> list[int]:
    """Return the class behind each of the ``margins``; of a regression, their numbers."""
    return [*getattr(problem.question, "rivals", range(margins))]


def _written(program: Program, cost: FloatArray, stem: Path, comments: Sequence[str]) -> list[Path]:
    """Write a program in each format that can say it; return the paths."""
    found, why = [], ""
    for suffix in SUFFIXES:
        path = stem.with_suffix(suffix)
        try:
            with replacing(path) as target:
                program.write(target, cost, comments)
        except ValueError as error:  # MPS has no maxima and no quadratic rows
            why = str(error)
            with suppress(FileNotFoundError):
                path.unlink()
            continue
        found.append(path)
    if not found:
        raise InputError(why)
    return found


def _size(program: Program) -> dict[str, Any]:
    size = size_of(program)
    return {name: getattr(size, name) for name in COLUMNS[-5:]}
