"""The campaign: cases from a seed that grows, and a table of what was asked.

``python -m tests.campaign --hours 2 --first 0 --findings findings.jsonl``. It exits with 1 after a
finding; ``--only SEED`` asks one case again.
"""

import argparse
import json
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

import numpy as np

from milp_verix.errors import MilpVerixError
from milp_verix.solvers import SOLVERS
from tests.campaign.cases import case
from tests.campaign.questions import QUESTIONS, search_of

_SOLVERS = [name for name, one in SOLVERS.items() if one.unavailable() is None and name != "beta"]


def main() -> int:
    """Run the campaign; return the exit code."""
    options = argparse.ArgumentParser(description="Random questions against listed points.")
    options.add_argument("--hours", type=float, default=2.0)
    options.add_argument("--first", type=int, default=0, help="the first seed")
    options.add_argument("--only", type=int, help="one seed alone")
    options.add_argument("--findings", type=Path, help="a file for findings, a line of JSON each")
    arguments = options.parse_args()
    end, seed = time.monotonic() + 3600 * arguments.hours, arguments.first
    if arguments.only is not None:
        seed, end = arguments.only, 0.0
    asked: Counter[tuple[str, str, str]] = Counter()
    findings = 0
    while True:
        for kind, question, outcome, told in outcomes(seed):
            asked[kind, question, outcome] += 1
            if outcome == "wrong":
                findings += 1
                line = {"seed": seed, "kind": kind, "question": question, "finding": told}
                print(json.dumps(line), file=sys.stderr, flush=True)
                if arguments.findings is not None:
                    with arguments.findings.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(line) + "\n")
        seed += 1
        if time.monotonic() >= end:
            break
    print(f"seeds {arguments.first} to {seed - 1}\n\n{table(asked)}")
    return 1 if findings else 0


def outcomes(seed: int) -> list[tuple[str, str, str, str]]:
    """Ask all questions about the case of a ``seed``: its kind, the question, the outcome, why."""
    found = case(seed)
    told = []
    for place, (name, question) in enumerate(QUESTIONS.items()):
        rng = np.random.default_rng([seed, place, 1])
        search = search_of(rng, _SOLVERS)
        try:
            outcome, why = ("decided" if question(found, search, rng) else "open"), ""
        except MilpVerixError as error:
            # a solver that does not take the question says so; anything else is a finding
            outcome, why = "refused", f"{search!r}: {error}"
        except Exception:  # whatever comes out of a question is what is looked for
            outcome, why = "wrong", f"{search!r}: {traceback.format_exc()}"
        told.append((found.kind, name, outcome, why))
    return told


def table(asked: Counter[tuple[str, str, str]]) -> str:
    """Return a Markdown table of what was asked: by kind, decided, open, refused and wrong."""
    names = ("decided", "open", "refused", "wrong")
    lines = [f"| model | cases | {' | '.join(names)} |", f"|---|{'---:|' * (len(names) + 1)}"]
    for kind in sorted({kind for kind, _, _ in asked}):
        counts = [
            sum(n for (k, _, outcome), n in asked.items() if (k, outcome) == (kind, name))
            for name in names
        ]
        cases = sum(n for (k, question, _), n in asked.items() if (k, question) == (kind, "check"))
        lines.append(f"| {kind} | {cases} | {' | '.join(map(str, counts))} |")
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
