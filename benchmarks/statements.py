"""Every text that a user gets is read back, and put to the model's own ``predict``.

    python benchmarks/statements.py --seeds 0:200 --workers 2

Each seed makes a table, a model of one of many kinds, and questions of every kind about some rows.
The texts of the answers are read by the grammar in ``docs/ideas`` alone, and each
statement is judged on rows of the user's frame. The table counts the statements of each kind, how
many of these are distinct, false and unreadable, and tracebacks. A false one is printed with its
seed, text and the row that refutes it; ``--seeds 7:8`` asks about seed 7 again.
Exits with 1 where a statement is false or unreadable, or a question ends in a traceback.
"""

import argparse
import pickle
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from statement_cases import Case, Predict, case
from statement_judges import Table, Texts
from statement_questions import Question, questions
from statement_reader import Tree, UnreadableError, read
from statement_referee import Referee, lexicon_of
from statement_rooms import Rows
from statement_texts import Told
from tables import Table as Printed, add_write, write

from milp_verix import MilpVerixError

_SHOWN = 40
_LINK = "outputs are sums of leaves, before the link of "


@dataclass
class Tally:
    """Counts of what was read: statements of each kind, distinct texts, and what is wrong."""

    read: Counter[str] = field(default_factory=Counter)
    distinct: Counter[str] = field(default_factory=Counter)
    false: Counter[str] = field(default_factory=Counter)
    unreadable: Counter[str] = field(default_factory=Counter)
    tracebacks: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    told: list[str] = field(default_factory=list)

    def __iadd__(self, other: "Tally") -> "Tally":
        for name in ("read", "distinct", "false", "unreadable", "refused"):
            getattr(self, name).update(getattr(other, name))
        self.tracebacks += other.tracebacks
        self.told += other.told
        return self

    @property
    def wrong(self) -> int:
        """Statements that are false or unreadable, and tracebacks."""
        return self.false.total() + self.unreadable.total() + self.tracebacks


def judged(seed: int, *, small: bool = False) -> Tally:
    """Return what is read in the answers about one seed; of a ``small`` part, about one row."""
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = remembering(case(seed, Path(folder)))
        rng = np.random.default_rng([84, seed])
        where = f"seed {seed} ({made.kind})"
        posed = answered(tally, where, lambda: questions(made, rng, Path(folder), small=small))
        for question in posed or ():
            asked = f"{where}, row {question.row}, {question.told}"
            texts = answered(tally, asked, lambda q=question: [*q.texts()])
            if texts is not None:
                judge_texts(made, question, texts, tally, asked)
    return tally


def remembering(made: Case) -> Case:
    """Return the case with functions that run the model once on equal rows: judges ask again."""

    def once(run: Predict) -> Predict:
        known: dict[bytes, Any] = {}

        def of(rows: pd.DataFrame) -> Any:
            columns = [(name, str(rows[name].dtype), rows[name].tolist()) for name in rows]
            key = pickle.dumps(columns)
            if key not in known:
                known[key] = run(rows)
                known[key].flags.writeable = False
            return known[key]

        return of

    runs = {name: getattr(made, name) for name in ("predict", "scores", "sums")}
    return replace(made, **{name: once(run) for name, run in runs.items() if run is not None})


def answered(tally: Tally, where: str, ask: Callable[[], Any]) -> Any:
    """Return what ``ask`` returns, or None where it is refused or ends in a traceback."""
    try:
        return ask()
    except MilpVerixError as error:
        tally.refused[type(error).__name__] += 1
        tally.told.append(f"REFUSED {where}: {error}")
    except Exception:  # a traceback is a finding, of any kind
        tally.tracebacks += 1
        last = traceback.format_exc().strip().splitlines()
        tally.told.append(f"TRACEBACK {where}: {' | '.join(last[-3:])}")
    return None


def judge_texts(
    made: Case, question: Question, texts: list[Told], tally: Tally, where: str
) -> None:
    """Read and judge the texts of one answer; all stand before a link that one of them tells."""
    if made.sums and any(_LINK in told.text.lower() for told in texts):
        made = replace(made, predict=made.sums)
    pages: dict[int | None, _Page] = {}
    seen = set[str]()
    trees = list[tuple[Told, Tree]]()
    for told in texts:
        if told.row not in pages:
            rows = Rows(made, question.row if told.row is None else told.row)
            pages[told.row] = _Page(Referee(rows, question.asked))
        try:
            tree = read(told.text, pages[told.row].lexicon, told.rule)
        except UnreadableError as error:
            tally.unreadable[told.place] += 1
            tally.told.append(f"UNREADABLE {where}, {told.place}: {told.text}\n    {error}")
        else:
            trees.append((told, tree))
            pages[told.row].tables.setdefault(told.table, []).append(tree)
    for told, tree in trees:
        page = pages[told.row]
        for one in page.judge_of(told.table, pages.values()).judge(tree):
            kind = one.kind if one.put else "texts that claim nothing of the model"
            tally.read[kind] += one.put
            tally.distinct[kind] += one.put and one.text not in seen
            seen.add(one.text)
            if one.why is not None:
                tally.false[kind] += 1
                tally.told.append(f"FALSE {where}, {told.place}: {one.text}\n    {one.why}")


class _Page:
    """The texts and tables about one row."""

    def __init__(self, referee: Referee) -> None:
        self.referee, self.lexicon = referee, lexicon_of(referee.rows)
        self.tables: dict[int, list[Tree]] = {}
        self._judges: dict[int, Table | Texts] = {}

    def judge_of(self, table: int, pages: Iterable["_Page"]) -> Table | Texts:
        """Return the judge of a table, or of the texts in none; ``pages`` are of one study."""
        if table not in self._judges:
            others = [page.referee for page in pages if page is not self]
            judge = (
                Table(self.referee, self.tables[table]) if table else Texts(self.referee, others)
            )
            self._judges[table] = judge
        return self._judges[table]


def tabulated(tally: Tally, *, forms: bool = True) -> Printed:
    """Return the counts of all statements and, printed, those of each form."""
    table = Printed("statements in | read | distinct | false | unreadable", quiet=not forms)
    counts = (tally.read, tally.distinct, tally.false, tally.unreadable)
    for form in sorted({*tally.read, *tally.unreadable}) if forms else ():
        table.add(form, *(one[form] for one in counts))
    table.add("all", *(one.total() for one in counts))
    return table


def main() -> int:
    """Judge the seeds asked for; return the exit code."""
    made = argparse.ArgumentParser(description=str(__doc__).partition("\n\n")[0])
    made.add_argument("--seeds", default="0:20", help="as 0:200")
    made.add_argument("--workers", type=int, default=1)
    add_write(made)
    arguments = made.parse_args()
    first, _, last = arguments.seeds.partition(":")
    seeds = range(int(first), int(last or int(first) + 1))
    tally = Tally()
    for one in _all(seeds, arguments.workers):
        for text in one.told[:_SHOWN]:
            print(text, flush=True)
        tally += one
    table = tabulated(tally)
    print(f"\n{len(seeds)} seeds, {tally.tracebacks} tracebacks, {tally.refused.total()} refusals")
    if arguments.write:
        write(arguments.write, [tabulated(tally, forms=False)], each=[table])
    return 1 if tally.wrong else 0


def _all(seeds: range, workers: int) -> Iterator[Tally]:
    if workers == 1:
        yield from map(judged, seeds)
        return
    with ProcessPoolExecutor(workers) as pool:
        yield from pool.map(judged, seeds, chunksize=1)


if __name__ == "__main__":
    raise SystemExit(main())
