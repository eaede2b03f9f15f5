"""Random trees of every library beside all points of small domains, one row for each library.

    python benchmarks/tree_listings.py --cases 1000 --journal listings.jsonl --write trees-listings

Each ensemble is asked all questions of ``tests/campaign``, half of them by ``auto`` and half by
HiGHS, or at every hundredth ensemble by a random solver; the points of its domain are listed, and
the library's own ``predict`` tells the truth. A journal keeps what was asked, so that a run that
was stopped goes on from there. It exits with 1 after a contradiction.
"""

import json
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from arguments import parsed, parser
from tables import Table, write

from tests.campaign.__main__ import asked as ask
from tests.campaign.journal import OUTCOMES
from tests.campaign.models import TREES


def asked(kind: str, seed: int) -> dict[str, Any]:
    """Ask all questions about the ensemble of a ``seed``, and count the outcomes."""
    told = ask(seed, [kind]) if seed % 100 == 0 else ask(seed, [kind], ["highs"])
    return {
        "kind": kind,
        "seed": seed,
        "points": told.points,
        **Counter(told.outcomes.values()),
        "findings": [why for name, why in told.told.items() if told.outcomes[name] == "wrong"],
    }


def main() -> int:
    """Ask what the journal does not have, and write the table of all of it."""
    arguments = parser(__doc__)
    arguments.add_argument("--cases", type=int, default=1000, help="ensembles of each library")
    arguments.add_argument(
        "--journal", type=Path, required=True, help="a file, a line of JSON each"
    )
    arguments.add_argument("--libraries", nargs="+", choices=TREES, default=[*TREES])
    options = parsed(arguments)
    warnings.simplefilter("ignore")  # rows without names
    lines = options.journal.read_text().splitlines() if options.journal.exists() else []
    kept = {(row["kind"], row["seed"]): row for row in map(json.loads, lines)}
    with options.journal.open("a", encoding="utf-8") as journal:
        for seed in range(options.cases):
            for kind in options.libraries:
                if (kind, seed) not in kept:
                    row = kept[kind, seed] = asked(kind, seed)
                    journal.write(json.dumps(row) + "\n")
                    journal.flush()
                    print(*row["findings"], sep="\n", end="")
    table = Table("library | ensembles | points | questions | decided | open | refused | wrong")
    wrong = 0
    for kind in options.libraries:
        rows = [kept[kind, seed] for seed in range(options.cases)]
        counts = [sum(row.get(name, 0) for row in rows) for name in OUTCOMES]
        table.add(kind, len(rows), sum(row["points"] for row in rows), sum(counts), *counts)
        wrong += counts[-1]
    if options.write:
        write(options.write, [table])
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
