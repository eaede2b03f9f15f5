"""The gallery of a study: a card for each whole result, in pages that open."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from milp_verix.errors import InputError
from milp_verix.records.base import Result
from milp_verix.records.contrast import ContrastiveExplanation
from milp_verix.records.explanation import Explanation
from milp_verix.records.json_format import load
from milp_verix.reporting.figures.style import typeset
from milp_verix.reporting.pages.markup import Html, element
from milp_verix.reporting.pages.result_views import outcome, view
from milp_verix.reporting.pages.tables import paged
from milp_verix.reporting.words.wording import prediction_text, seconds_text
from milp_verix.study.page.study_rows import Row, Settings
from milp_verix.study.results import place, place_of

PAGE = 50


@dataclass(frozen=True, slots=True)
class Stored:
    """A task and the file of its whole result."""

    row: Row
    path: Path


def stored_results(rows: Sequence[Row], journal: Path, folder: Path | None) -> list[Stored]:
    """Return the tasks whose whole result is there: as the ``journal`` says, or in ``folder``.

    A path that leads out of the journal's folder, or out of ``folder``, is not followed.
    """
    found = []
    for row in rows:
        places = [] if row.result is None else [place(journal, row.result)]
        if folder is not None:
            places.insert(0, place_of(folder, row.key))
        path = next((one for one in places if one is not None and _is_file(one)), None)
        if path is not None:
            found.append(Stored(row, path))
    return found


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that is too long
        return False


def read_result(stored: Stored) -> Result:
    """Return the whole result of a task, counterfactuals unread; ``InputError`` for a bad file."""
    kind = ContrastiveExplanation if stored.row.task == "contrastive" else Explanation
    return load(stored.path, kind, lazily=True)


def anchor(row: Row) -> str:
    """Return the name of a task's card in links."""
    return f"task-{row.key[:16]}-{row.index}"


def gallery(chosen: Sequence[Stored], settings: Settings, counterfactuals: int) -> Html:
    """Return a card for each of the tasks ``chosen``, in pages of 50."""
    cards = list(_cards(chosen, settings, counterfactuals))
    pages = []
    for first in range(0, len(cards), PAGE):
        some = cards[first : first + PAGE]
        title = f"Explanations {first + 1} to {first + len(some)} of {len(cards)}"
        pages.append((title, element("div", *some, class_="cards")))
    return element("div", paged(pages), class_="gallery")


def _cards(chosen: Sequence[Stored], settings: Settings, counterfactuals: int) -> Iterator[Html]:
    for stored in chosen:
        row = stored.row
        setting, name = settings.short(row), input_name(row)
        try:
            result = read_result(stored)
            told, shown = outcome(result), view(result, counterfactuals, f"{name}: features")
        except InputError as error:
            told, shown = "its whole result cannot be read", element("p", str(error))
        predicted = "" if row.prediction is None else typeset(prediction_text(row.prediction, 3))
        yield element(
            "article",
            element("h3", f"{name}: prediction {predicted}"),
            element(
                "p",
                element("span", row.status, class_=f"status {row.status}"),
                " · ",
                " · ".join(filter(None, (setting, told, row.reason, seconds_text(row.seconds)))),
            ),
            shown,
            class_="card",
            id=anchor(row),
            data_size=None if row.size is None else row.size,
            data_seconds=row.seconds,
            data_prediction=predicted,
            data_status=row.status,
        )


def input_name(row: Row) -> str:
    """Return ``"Input 12"``, with the name of its file if it has one."""
    return f"Input {row.index}" + (f" ({row.name})" if row.name else "")
