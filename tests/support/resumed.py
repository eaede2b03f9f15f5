"""Runs of the command line that go on from the JSON that an earlier run saved."""

from pathlib import Path
from typing import Any

from tests.support.command_line import SEVEN, run_here
from tests.support.digits_example import MODEL


def resumed(command: str, kind: Any, folder: Path) -> tuple[Any, Any]:
    """Return the result of ``command`` about a digit, and that of a run that went on from it."""
    path = folder / "earlier.json"
    question = (MODEL, SEVEN, "--epsilon", 0.1, "--quiet", "--json", path)
    assert run_here(command, *question).returncode == 0
    whole = kind.from_json(path)
    done = run_here(command, *question, "--resume", path)
    assert done.returncode == 0, done.stderr
    return whole, kind.from_json(path)
