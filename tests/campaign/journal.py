"""The journal of the campaign: a line of JSON for each case, and tables of all that was asked."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

OUTCOMES = ("decided", "open", "refused", "wrong")


@dataclass(frozen=True)
class Asked:
    """The outcomes of all questions about the case of a ``seed``, by the code of a ``commit``.

    ``kind`` is the model's, ``points`` the number of inputs that its own runtime was run on.
    ``outcomes`` has one of ``OUTCOMES`` for each question, ``told`` why it was refused or wrong.
    """

    seed: int
    commit: str
    kind: str
    points: int
    outcomes: dict[str, str]
    told: dict[str, str]


def append(journal: Path, asked: Asked) -> None:
    """Add a case to a journal, which need not exist."""
    with journal.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(asked)) + "\n")


def read(journal: Path) -> list[Asked]:
    """Return the cases of a journal; none of one that does not exist.

    A last line that a kill cut short is left out.
    """
    if not journal.exists():
        return []
    *whole, _ = journal.read_text(encoding="utf-8").split("\n")
    return [Asked(**json.loads(line)) for line in whole]


def table(cases: Sequence[Asked], by: str) -> str:
    """Return a Markdown table of cases, points and outcomes: by ``"model"`` or ``"question"``."""
    head = f"| {by} | cases | points | {' | '.join(OUTCOMES)} |"
    lines = [head, f"|---|{'---:|' * (len(OUTCOMES) + 2)}"]
    groups: dict[str, list[tuple[Asked, Iterable[str]]]] = {}
    for one in cases:
        if by == "model":
            groups.setdefault(one.kind, []).append((one, one.outcomes.values()))
        else:
            for question, outcome in one.outcomes.items():
                groups.setdefault(question, []).append((one, [outcome]))
    names = sorted(groups) if by == "model" else list(groups)
    lines += [_row(name, groups[name]) for name in names]
    return "\n".join([*lines, _row("all", [(one, one.outcomes.values()) for one in cases])])


def _row(name: str, group: Sequence[tuple[Asked, Iterable[str]]]) -> str:
    counted = Counter(outcome for _, outcomes in group for outcome in outcomes)
    numbers = [len(group), sum(one.points for one, _ in group), *map(counted.__getitem__, OUTCOMES)]
    return f"| {name} | {' | '.join(f'{number:,}' for number in numbers)} |"


def seeds(cases: Sequence[Asked]) -> str:
    """Return the seeds that each commit was asked, as text."""
    told = []
    for commit in dict.fromkeys(one.commit for one in cases):
        known = [one.seed for one in cases if one.commit == commit]
        told.append(f"`{commit}`: {len(known):,} seeds, {min(known):,} to {max(known):,}")
    return "; ".join(told)
