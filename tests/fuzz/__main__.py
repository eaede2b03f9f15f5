"""The command: see the docstring of the package."""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.fuzz import arguments, commands, files, studies
from tests.fuzz.trials import Try, fault, run

KINDS: dict[str, Callable[[Path], Try]] = {
    "files": files.trials,
    "arguments": lambda _: arguments.trials(),
    "studies": lambda _: studies.trials(studies.of_studies),
    "embed": lambda _: studies.trials(studies.of_embedding),
    "compare": lambda _: studies.trials(studies.of_comparisons),
    "commands": commands.trials,
}
"""Kinds of trials; each gets a folder of its own."""


def main() -> int:
    """Make the tries asked for; return the exit code."""
    made = argparse.ArgumentParser(description="Damaged files and odd arguments.")
    made.add_argument("--tries", type=int, default=1000)
    made.add_argument("--first", type=int, default=0, help="the first seed")
    made.add_argument("--kinds", nargs="+", choices=KINDS, default=[*KINDS])
    made.add_argument("--only", type=int, help="one seed alone, in this process")
    asked = made.parse_args()
    wrong = False
    for kind in asked.kinds:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            tries = KINDS[kind](Path(folder))
            if asked.only is not None:
                told = fault(tries(asked.only))
                lines = [] if told is None else [told]
            else:
                lines = run(tries, range(asked.first, asked.first + asked.tries))
        wrong = wrong or bool(lines)
        for line in lines:
            sys.stdout.write(f"{kind}: {line}\n")
        sys.stdout.write(
            f"{kind}: {len(lines)} of {1 if asked.only is not None else asked.tries} are wrong\n"
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
