"""The part that columns play in the decisions about a table, and what is said of it."""

from dataclasses import dataclass
from math import floor

from rich.table import Table
from rich.text import Text

from milp_verix.base.errors import printable
from milp_verix.base.number_text import counted
from milp_verix.views.words.wording import joined, listed_texts

_TOLD = 3


@dataclass(frozen=True, slots=True)
class ColumnUse:
    """The part that one column plays; shares are between 0 and 1.

    ``needed`` is the share of decisions of each class whose explanation has the column, in the
    order of the classes, ``open`` of all decisions in which it is not decided if it is needed,
    ``no_part`` of those in which it is proven to be in no minimal explanation, ``still`` of those
    in which it stays as it is, which proves nothing. ``typical`` tells the values that are kept,
    or is empty.
    """

    name: str
    needed: tuple[float, ...]
    in_all: float
    open: float
    no_part: float
    still: float
    typical: str


@dataclass(frozen=True, slots=True)
class TableUse:
    """The part that columns play: ``classes`` are names with their numbers of decisions.

    ``columns`` begin with the one that is needed most often. ``asked`` tells the question.
    """

    columns: tuple[ColumnUse, ...]
    classes: tuple[tuple[str, int], ...]
    asked: str

    @property
    def decisions(self) -> int:
        """Number of decisions."""
        return sum(count for _, count in self.classes)


def share_text(share: float) -> str:
    """Return ``"40 %"``, rounded down; a share below 1 % is not told as none."""
    percent = 100 * share
    if 0 < percent < 1:
        return "under 1 %"
    if 99 < percent < 100:
        return "over 99 %"
    return f"{floor(percent + 1e-9)} %"  # 29.000…, of 0.29


def columns_headline(use: TableUse) -> str:
    """Return ``"What explains 40 decisions, by column"``."""
    return f"What explains {counted(use.decisions, 'decision')}, by column"


def columns_sentence(use: TableUse) -> str:
    """Return the columns needed most often, and those with no part, or held, in all decisions."""
    every = f"{counted(use.decisions, 'decision')} ({use.asked})"
    top = [column for column in use.columns if column.in_all][:_TOLD]
    told = []
    if top:
        parts = [f"{column.name} in {share_text(column.in_all)}" for column in top]
        told.append(f"Explanations of {every} have {joined(parts)} of the cases.")
    else:
        told.append(f"No column is in an explanation of {every}.")
    never = [column.name for column in use.columns if column.no_part == 1]
    if never:
        verb = "plays" if len(never) == 1 else "play"
        listed = listed_texts(never, "other column", _TOLD)
        told.append(f"{listed} provably {verb} no part in any of them.")
    still = [column.name for column in use.columns if column.still == 1]
    if still:
        listed = listed_texts(still, "other column", _TOLD)
        told.append(f"Nothing is proven of the part of {listed}, held in all of them.")
    return printable(" ".join(told))


def columns_table(use: TableUse) -> Table:
    """Return a rich table with a row for each column."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    heads = ["column", *(f"explains {name}" for name, _ in use.classes)]
    heads += ["not decided", "plays no part", "stays as it is", "typical values"]
    for place, head in enumerate(heads):
        right = 0 < place < len(heads) - 1
        table.add_column(Text(printable(head)), justify="right" if right else "left")
    for column in use.columns:
        shares = map(share_text, [*column.needed, column.open, column.no_part, column.still])
        cells = [column.name, *shares, column.typical]
        table.add_row(*(Text(printable(cell)) for cell in cells))
    return table
