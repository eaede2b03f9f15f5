"""The gallery of a study: a card for each whole result."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from milp_verix.base.errors import InputError
from milp_verix.results.records.base import Result
from milp_verix.results.records.contrast import ContrastiveExplanationRecord
from milp_verix.results.records.explanation import ExplanationRecord
from milp_verix.results.records.json_format import load
from milp_verix.study.page.rows import Settings, TaskRow
from milp_verix.study.results import place, place_of
from milp_verix.views.figures.parts.image_view import image_view
from milp_verix.views.figures.parts.style import typeset
from milp_verix.views.pages.rendering import View
from milp_verix.views.pages.result_page import view
from milp_verix.views.words.any_result import outcome, sentence
from milp_verix.views.words.wording import named_prediction, prediction_text, seconds_text

FEW = 4
"""Counterfactuals of an image on a card, if no other number is asked for."""


@dataclass(frozen=True, slots=True)
class StoredTask:
    """A task and the file of its whole result."""

    row: TaskRow
    path: Path


def stored_results(rows: Sequence[TaskRow], journal: Path, folder: Path | None) -> list[StoredTask]:
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
            found.append(StoredTask(row, path))
    return found


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that is too long
        return False


def read_result(stored: StoredTask) -> Result:
    """Return the whole result of a task, counterfactuals unread; ``InputError`` for a bad file."""
    kind = ContrastiveExplanationRecord if stored.row.task == "contrastive" else ExplanationRecord
    return load(stored.path, kind, lazily=True)


def anchor(row: TaskRow) -> str:
    """Return the name of a task's card in links."""
    return f"task-{row.key[:16]}-{row.index}"


@dataclass(frozen=True, slots=True)
class Card:
    """A task in the gallery, in words and as a view of its result."""

    row: TaskRow
    name: str
    anchor: str
    prediction: str
    named: bool
    sentence: str
    told: str
    shown: View


def card(stored: StoredTask, settings: Settings, counterfactuals: int | None) -> Card:
    """Return the card of a task, with so many ``counterfactuals`` at the most.

    By default with 4 of an image, and all of a table, whose change of a few words each takes
    little room.
    """
    row, name = stored.row, input_name(stored.row)
    prediction, said, named = predicted(row), "", False
    try:
        result = read_result(stored)
        most = counterfactuals
        if most is None:
            most = FEW if image_view(result) is not None else len(result.groups)
        told, shown = outcome(result), view(result, most, f"{name}: features")
        if named := bool(result.class_names):
            prediction = named_prediction(result, result.prediction)
        if result.inputs is not None:
            said = typeset(sentence(result))
    except InputError as error:
        told, shown = "its whole result cannot be read", View(note=str(error))
    told = " · ".join(
        filter(None, (settings.short(row), told, row.reason, seconds_text(row.seconds)))
    )
    return Card(row, name, anchor(row), prediction, named, said, told, shown)


def predicted(row: TaskRow, missing: str = "") -> str:
    """Return the prediction of a task in words, ``missing`` where it has none."""
    return missing if row.prediction is None else typeset(prediction_text(row.prediction, 3))


def input_name(row: TaskRow) -> str:
    """Return ``"Input 12"``, with the name of its file if it has one."""
    return f"Input {row.index}" + (f" ({row.name})" if row.name else "")
