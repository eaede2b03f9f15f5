"""One run of the suite, in a process of its own: explain a request, write the outcome as JSON.

    python benchmarks/suite_run.py REQUEST.json OUTCOME.json

It imports nothing of the suite, so that ``PYTHONPATH`` decides whose ``milp_verix`` is measured.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import milp_verix
from milp_verix.base.errors import MilpVerixError, SolverUnavailableError


def outcome(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the outcome of one explanation, or the error that ended it.

    ``question`` is ``"explain"`` unless the arguments name another; with ``cpu_clock`` limits and
    seconds are those of the processor. ``undecided`` counts features that are explained without a
    counterfactual which onnxruntime confirms. ``aside`` is processor time of this process for
    anything but the explanation, ``peak`` the most bytes that it has held, None where the system
    does not tell.
    """
    if arguments.pop("cpu_clock", False):
        time.monotonic = time.process_time
    # a lazy import is no part of the measurement
    explain = getattr(milp_verix, arguments.pop("question", "explain"))
    arrays = {
        "x": np.array(arguments["x"], np.float32),
        "domain": tuple(np.array(end) for end in arguments["domain"]),
    }
    if "features" in arguments:
        arrays["features"] = np.array(arguments["features"])
    aside, started = time.process_time(), time.monotonic()
    try:
        found = explain(**(arguments | arrays))
    except MilpVerixError as error:
        unknown = isinstance(error, SolverUnavailableError) or "unknown solver" in str(error)
        told = {"unavailable" if unknown else "error": f"{type(error).__name__}: {error}"}
        return {**told, "seconds": time.monotonic() - started, "aside": aside}
    seconds = time.monotonic() - started
    explained, peak = time.process_time(), most_held()
    failing = found.replay(milp_verix.load_network(arguments["network"]))
    data = json.loads(found.to_json())
    statistics = data["statistics"]
    return {
        "size": found.size,
        "lower_bound": data.get("lower_bound"),
        "undecided": len(found.unknown) + len(failing),
        "counterfactuals": len(found.counterfactuals) - len(failing),
        "failing": len(failing),
        "seconds": seconds,
        "stopped": statistics["stopped"],
        "stages": statistics["stages"],
        "solvers": statistics.get("solvers", []),
        "versions": data["versions"],
        "aside": aside + time.process_time() - explained,
        "peak": peak,
    }


def most_held() -> int | None:
    """Return the most bytes that this process has held so far; that of a parent does not count."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM")), None)


if __name__ == "__main__":
    request, written = map(Path, sys.argv[1:])
    told = json.dumps(outcome(json.loads(request.read_text())))
    written.write_text(told)
