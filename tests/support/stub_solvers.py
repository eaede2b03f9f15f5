"""Programs that pose as solvers, and end in every way but with an answer."""

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

_SCRIPT = """#!/bin/sh
case "$1" in --version|-v|-stop) echo "Version: 9.9.9 GLPK 5.0"; exit 0;; esac
words="$*"
[ "${0##*/}" = cplex ] && words="$words $(cat)"
for word in $words; do
  case "$word" in --options_file=*) words="$words $(cat "${word#--options_file=}")";; esac
done
if [ -n "WRITES" ]; then
  for word in $(printf '%s' "$words" | tr '"=' '  '); do
    case "$word" in *.sol|*.soln|*.out|*.raw|*_log|*.txt) cat "$0.text" > "$word";; esac
  done
fi
cat "$0.log"
END
"""


@dataclass(frozen=True, slots=True)
class Ending:
    """A program's output, the text that it writes to each file asked of it, and its end."""

    log: str = ""
    text: str | None = None
    end: str = "exit 0"


FILES = (
    "",
    "Infea",
    "Optimal - objective value 7.00000000\n",
    "Optimal - objective value 0.0\n      0 X0000000  0  0\n      1 X0000001  0  0\n",
    "Stopped on time (no integer solution - continuous used) - objective value 1\n",
    "Stopped on time - objective value 3.00000000\n      0 X0000000  1  0\n",
    "solution status: time limit reached\nno solution available\n",
    "solution status: optimal solution found\nobjective value: 7\nx0 1\nx1 1\nx2 1\n",
    "Model   status      : Time limit reached\nSolution status     : -\n",
    "Status            Time limit reached\n",
    "Problem:\nRows:       1\nColumns:    3\nNon-zeros:  3\nStatus:     INTEGER UNDEFINED\n",
    "<?xml version='1.0'?>\n<CPLEXSolution><header solutionStatusValue='108'/></CPLEXSolution>",
    "<?xml version='1.0'?>\n<CPLEXSolution>",
    "# Objective value = 7\nx0 1\nx1 1\nx2 1\n",
    "[0.1/1] No Solution\n",
    "\0\xff garbage",
)
"""Solution files: empty, cut off, of other problems, and of runs that a limit stopped."""

ENDINGS = (
    Ending(),
    Ending(end="exit 1"),
    Ending(end="kill -9 $$"),
    Ending("CPLEX Error  1016: Community Edition. Problem size limits exceeded.\n"),
    Ending("No license found: the problem is infeasible for a restricted license\n"),
    Ending("Infeasible\n"),
    Ending("Result - Stopped on time limit\n\nNo feasible solution found\n"),
    Ending("TIME LIMIT EXCEEDED; SEARCH TERMINATED\n"),
    *(Ending(text=text) for text in FILES),
    *(Ending(text=text, end="exit 1") for text in FILES[:4]),
)


def install(monkeypatch: pytest.MonkeyPatch, folder: Path, name: str, ending: Ending) -> None:
    """Put a program called ``name`` that ends with ``ending`` first on the PATH."""
    script = _SCRIPT.replace("WRITES", "" if ending.text is None else "yes")
    program = folder / name
    program.write_text(script.replace("END", ending.end))
    program.chmod(0o755)
    (folder / f"{name}.text").write_text(ending.text or "", encoding="latin-1")
    (folder / f"{name}.log").write_text(ending.log)
    if os.environ["PATH"].partition(os.pathsep)[0] != str(folder):
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
