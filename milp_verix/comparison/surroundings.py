"""What a reader needs to repeat a comparison: the machine, the versions, what solvers drop."""

import os
import platform
import subprocess
from collections.abc import Sequence
from contextlib import closing, suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import milp_verix
from milp_verix.results.comparison import Pair
from milp_verix.solvers import OWN_ENGINES, open_session, resolve_solver

_LIBRARIES = (
    *("highspy", "gurobipy", "pyscipopt", "pulp", "pyomo", "xpress", "coptpy", "cplex", "ortools"),
    "scipy",
)


@cache
def machine() -> dict[str, Any]:
    """Return processor, cores, memory in GiB, platform and the commit of the checkout, if any."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    except (OSError, ValueError):
        named, memory = [], 0.0
    return {
        "processor": (named or [platform.processor() or platform.machine()])[0],
        "cores": os.cpu_count(),
        "memory": round(memory, 1) or None,
        "platform": platform.platform(),
        "commit": _commit(),
    }


def libraries() -> dict[str, str]:
    """Return the versions of the solvers' packages that are installed."""
    found = {}
    for name in _LIBRARIES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def _commit() -> str | None:
    """Return the commit of the checkout that this package is imported from; None if it is none."""
    folder = Path(milp_verix.__file__).parent.parent
    if not (folder / ".git").exists():
        return None
    try:
        said = subprocess.run(
            ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=40"],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return said.stdout.strip()


def dropped_by(pairs: Sequence[Pair]) -> float:
    """Return the largest entry that one of the solvers would leave out of a program."""
    largest = 0.0
    for name in dict.fromkeys(pair.solver for pair in pairs):
        with closing(open_session(name)) as session:
            largest = max(largest, getattr(session, "dropped", 0.0))
    return largest


def all_take(pairs: Sequence[Pair], kind: str) -> bool:
    """Return whether all solvers that get programs take a kind of row."""
    names = {pair.solver for pair in pairs if pair.solver.partition("?")[0] not in OWN_ENGINES}
    return all(kind in resolve_solver(name).capabilities for name in names)
