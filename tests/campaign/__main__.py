"""The campaign: cases from a seed that grows, a journal, and tables of what was asked.

``python -m tests.campaign --hours 2 --journal campaign.jsonl`` goes on after the last seed of the
journal. It exits with 1 after a finding; ``--only SEED`` asks one case again.
``benchmarks/campaign.py`` writes the tables of a journal.
"""

import argparse
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.tables import commit
from milp_verix.base.errors import MilpVerixError
from milp_verix.solvers import SOLVERS
from tests.campaign.cases import case
from tests.campaign.journal import Asked, append, read, seeds, table
from tests.campaign.models import KINDS, TREES
from tests.campaign.questions import QUESTIONS, search_of

_SOLVERS = [name for name, one in SOLVERS.items() if one.unavailable() is None and name != "beta"]


def main() -> int:
    """Run the campaign; return the exit code."""
    options = argparse.ArgumentParser(description="Random questions against listed points.")
    options.add_argument("--hours", type=float, default=2.0)
    options.add_argument("--first", type=int, help="the first seed; by default the journal's next")
    options.add_argument("--only", type=int, help="one seed alone")
    options.add_argument("--journal", type=Path, help="a file for what was asked, JSON by line")
    arguments = options.parse_args()
    known = [] if arguments.journal is None else read(arguments.journal)
    end, seed = time.monotonic() + 3600 * arguments.hours, arguments.first
    if arguments.only is not None:
        seed, end = arguments.only, -1.0
    elif seed is None:
        seed = max((one.seed for one in known), default=-1) + 1
    cases: list[Asked] = []
    while time.monotonic() < end or (end < 0 and not cases):
        cases.append(asked(seed + len(cases)))
        if arguments.journal is not None:
            append(arguments.journal, cases[-1])
        for question, outcome in cases[-1].outcomes.items():
            if outcome == "wrong":
                told = cases[-1].told[question]
                print(f"seed {cases[-1].seed}, {cases[-1].kind}, {question}: {told}", flush=True)
    every = [*known, *cases]
    tables = [table(every, by) for by in ("model", "question")]
    print("\n\n".join([seeds(every), *tables]))
    return int(any("wrong" in one.outcomes.values() for one in cases))


def asked(
    seed: int, kinds: Sequence[str] = tuple(KINDS), solvers: Sequence[str] = _SOLVERS
) -> Asked:
    """Ask all questions about the case of a ``seed``, a model of one of the ``kinds``."""
    found = case(seed, kinds)
    outcomes, told = {}, {}
    for place, (name, question) in enumerate(QUESTIONS.items()):
        rng = np.random.default_rng([seed, place, 1])
        search = search_of(rng, solvers, trees=found.kind in TREES)
        try:
            outcomes[name] = "decided" if question(found, search, rng) else "open"
        except MilpVerixError as error:
            # a solver that does not take the question says so; anything else is a finding
            outcomes[name], told[name] = "refused", f"{search!r}: {error}"
        except Exception:  # whatever comes out of a question is what is looked for
            outcomes[name], told[name] = "wrong", f"{search!r}: {traceback.format_exc()}"
    return Asked(seed, _COMMIT, found.kind, len(found.points), outcomes, told)


_COMMIT = commit().replace("`", "")


if __name__ == "__main__":
    sys.exit(main())
