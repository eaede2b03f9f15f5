"""Switch techniques off, one by one, on all cases of the suite: ``ablation.py`` has the switches.

    python benchmarks/suite_ablation.py --journal ablation.jsonl --limit 5 --write ablation-suite

Each case and technique is a line of the journal, from which a measurement goes on. Limits and
seconds are those of the clock of work, so a busy machine gives the same table. ``ratio`` compares
the work with that of the first row; ``fewer`` and ``more`` count the cases that have more than a
tenth fewer or more undecided features than there.
"""

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from ablation import TECHNIQUES
from arguments import parsed, parser
from suite import prepared, read
from suite_cases import CASES, Request
from tables import Table, write

import milp_verix
from milp_verix.base.clock import Deadline, elapsed_work
from verix_encodings.work import UNITS_PER_SECOND, worked

NOTHING = "nothing"


def measured(request: Request, without: str, limit: float) -> dict[str, Any]:
    """Explain a case without a technique; return a line of the journal."""
    given = dict(request.arguments)
    given["x"] = np.array(given["x"], np.float32)
    given["domain"] = tuple(map(np.array, given["domain"]))
    if "features" in given:
        given["features"] = np.array(given["features"])
    with ExitStack() as switched:
        for place in TECHNIQUES.get(without, ()):
            switched.enter_context(patch.object(*place))
        began = worked()
        until = began + limit * UNITS_PER_SECOND
        deadline: Any = Deadline(work_at=until, planned_at=until, planned=limit)
        found = milp_verix.explain(**given, time_limit=deadline)
    return {
        "case": request.name,
        "digest": request.digest,
        "without": without,
        "limit": limit,
        "size": found.size,
        "undecided": len(found.unknown),
        "checks": found.statistics.checks,
        "work": elapsed_work(began),
    }


def table_of(lines: list[dict[str, Any]], limit: float) -> Table:
    """Return a row for each technique, over the cases that all of them have."""
    of = {(one["case"], one["without"]): one for one in lines if one["limit"] == limit}
    every = (NOTHING, *TECHNIQUES)
    cases = [case for case in CASES if all((case, without) in of for without in every)]
    table = Table("without | cases | checks | size | undecided | fewer | more | work | ratio")
    first = {case: of[case, NOTHING] for case in cases}
    for without in every:
        here = {case: of[case, without] for case in cases}
        changes = [one["undecided"] - first[case]["undecided"] for case, one in here.items()]
        tenths = [0.1 * first[case]["undecided"] for case in here]
        sums = {
            name: sum(one[name] for one in here.values())
            for name in here[cases[0]]
            if name in ("checks", "size", "undecided", "work")
        }
        table.add(
            without,
            len(cases),
            sums["checks"],
            sums["size"],
            sums["undecided"],
            sum(change < -tenth for change, tenth in zip(changes, tenths, strict=True)),
            sum(change > tenth for change, tenth in zip(changes, tenths, strict=True)),
            f"{sums['work']:.1f}",
            f"{sums['work'] / sum(one['work'] for one in first.values()):.2f}",
        )
    return table


def main() -> int:
    """Measure what is left; return the exit code."""
    options = parser(__doc__)
    options.add_argument("--journal", type=Path, required=True, help="where it goes on")
    options.add_argument("--limit", type=float, default=5.0, help="seconds of work for a case")
    options.add_argument("--cases", nargs="+", choices=CASES, default=[*CASES])
    options.add_argument("--folder", type=Path, default=Path("suite-networks"))
    given = parsed(options)
    known = {(one["digest"], one["without"], one["limit"]) for one in read(given.journal)}
    for request in prepared(given.cases, given.folder):
        for without in (NOTHING, *TECHNIQUES):
            if (request.digest, without, given.limit) not in known:
                line = measured(request, without, given.limit)
                print(line, flush=True)
                with given.journal.open("a", encoding="utf-8") as journal:
                    journal.write(json.dumps(line) + "\n")
    table = table_of(read(given.journal), given.limit)
    if given.write:
        write(given.write, [table], [])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
