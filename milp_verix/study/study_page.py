"""The page of a study: what was asked, on what answers rest, summaries, a gallery, what is open."""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from milp_verix.base.errors import InputError
from milp_verix.base.number_text import counted, down
from milp_verix.base.tolerances import Tolerances
from milp_verix.results.base import Result
from milp_verix.study import study_summary
from milp_verix.study.journal import DONE
from milp_verix.study.study_summary import Settings, StoredTask, TaskRow
from milp_verix.study.table import use_in
from milp_verix.views.image_view import image_view
from milp_verix.views.rendering import Cell, PageTable, View, rendered
from milp_verix.views.result_page import view
from milp_verix.views.result_words import outcome, sentence
from milp_verix.views.style import typeset
from milp_verix.views.tabular_plot import class_colour
from milp_verix.views.text_tables import TableUse, columns_sentence, share_text
from milp_verix.views.wording import named_prediction, prediction_text, seconds_text

FEW = 4
"""Counterfactuals of an image on a card, if no other number is asked for."""

_LINES = 200
_MOST_LINES = 2000
"""Lines of a table before it refers to the journal for the others."""


def study_page(
    journal: Path,
    *,
    results: Path | None,
    most: int,
    counterfactuals: int | None,
    warn: Callable[[str], None],
) -> str:
    """Return the report of the study in ``journal``, a file or a folder, as HTML.

    ``results`` is a folder of whole results, besides those that the journal names. At ``most`` so
    many of them are shown, spread evenly, each with so many ``counterfactuals``. Raises
    ``InputError`` for a journal that cannot be read or holds no record.
    """
    words = list[str]()

    def tell(text: str) -> None:
        words.append(text.removeprefix(f"{journal}: "))
        warn(text)

    rows = study_summary.read_rows(journal, tell)
    if not rows:
        raise InputError(f"{journal} holds no record of a task: a study has a line for each")
    if results is not None and not results.is_dir():
        raise InputError(f"results: {results} is no folder; name the one with the whole results")
    settings = study_summary.settings_of_rows(rows)
    there = study_summary.stored_results(rows, journal, results)
    chosen = _spread(there, most)
    examples = _examples(there)
    open_rows = [row for row in rows if row.status != DONE]
    links = {id(stored.row) for stored in chosen}
    models = list(dict.fromkeys(result.model.file for result in examples.values()))
    return rendered(
        "study.html",
        title=f"Study {journal.name}",
        lead=study_summary.totals(rows),
        question=_question(rows, settings, examples, words),
        shared=[
            (name.replace("_", " "), typeset(study_summary.value_text(value)))
            for name, value in settings.shared.items()
        ],
        tasks=settings.tasks,
        # the defaults where the tasks share no others
        tolerances={**asdict(Tolerances()), **(settings.shared.get("tolerances") or {})},
        exactness=settings.shared.get("exactness"),
        use=_columns(there, journal, examples),
        columns_sentence=columns_sentence,
        class_colour=class_colour,
        share_text=share_text,
        summary=study_summary.summary(rows, settings),
        distributions=study_summary.distributions(rows, settings),
        groups_left=len(study_summary.groups(rows, settings)) - study_summary.MOST_GROUPS,
        gallery=(card(stored, settings, counterfactuals) for stored in chosen),
        shown_of=len(chosen),
        pictured="contrastive" in settings.tasks
        or any(image_view(one) is not None for one in examples.values()),
        whole=len(there),
        lacking=sum(row.size is not None or row.robust for row in rows) - len(there),
        reasons=_reasons(open_rows),
        open_tables=_tables(_OF_OPEN, open_rows, settings, links),
        open_lacking=len(open_rows) > _MOST_LINES,
        task_tables=_tables(_OF_ALL, rows, settings, links),
        task_lacking=len(rows) > _MOST_LINES,
        command=study_summary.command(rows, settings, journal.name, models),
        hashes=study_summary.hashes(journal),
        versions=_versions(rows, examples),
    )


def _columns(
    there: Sequence[StoredTask], journal: Path, examples: dict[str, Result]
) -> TableUse | None:
    """Return the part that columns play in the decisions; None of images and of other tasks."""
    if not any(one.inputs or one.feature_names for one in examples.values()):
        return None
    with suppress(InputError):
        return use_in(_spread(there, _MOST_LINES), journal)
    return None


def _spread(there: Sequence[StoredTask], most: int) -> list[StoredTask]:
    """Return up to ``most`` tasks, evenly spread from the first to the last."""
    if len(there) <= most:
        return list(there)
    return [there[place * len(there) // most] for place in range(most)]


def _examples(there: Sequence[StoredTask]) -> dict[str, Result]:
    """Return one whole result for each network and kind of task, for names and versions."""
    found: dict[str, Result] = {}
    for stored in there:
        name = f"{stored.row.network} {stored.row.task}"
        if name not in found:
            with suppress(InputError):
                found[name] = stored.read()
    return found


def _question(
    rows: Sequence[TaskRow],
    settings: Settings,
    examples: dict[str, Result],
    journals: Sequence[str],
) -> list[tuple[str, str]]:
    files = {name.split()[0]: result.model.file for name, result in examples.items()}
    indices = sorted({row.index for row in rows})
    words = study_summary.ranges(indices)
    if len(words) > 200:
        words = words[:200].rpartition(",")[0] + ", …"
    return [
        *(
            ("network", f"{files.get(network, 'file unknown')}, hash {network}")
            for network in settings.networks
        ),
        ("inputs", f"{len(indices)}: {words}"),
        ("tasks", ", ".join(settings.tasks)),
        ("radii", ", ".join(study_summary.radius_text(radius) for radius in settings.radii)),
        *((name.replace("_", " "), ", ".join(_values(rows, name))) for name in settings.varies),
        *(
            ("note", f"{note} ({counted(count, 'task')})")
            for note, count in Counter(note for row in rows for note in row.notes).most_common(12)
        ),
        *(("journal", text) for text in journals),
    ]


def _values(rows: Sequence[TaskRow], name: str) -> list[str]:
    return list(
        dict.fromkeys(
            study_summary.value_text(row.setting[name]) for row in rows if name in row.setting
        )
    )


def _reasons(rows: Sequence[TaskRow]) -> PageTable:
    reasons = Counter((row.status, row.reason or "no reason recorded") for row in rows)
    lines = [(why, status, str(count)) for (status, why), count in reasons.most_common(50)]
    return PageTable("Reasons", ("reason", "status", "tasks"), lines, texts=2)


def _size(row: TaskRow) -> str:
    return "–" if row.size is None else str(row.size)


_OF_OPEN: dict[str, Callable[[TaskRow], str | Cell]] = {
    "status": lambda row: Cell(row.status, status=row.status),
    "reason": lambda row: row.reason or "–",
    "size": _size,
    "bound": lambda row: "–" if row.lower_bound is None else down(row.lower_bound),
    "undecided features": lambda row: str(row.unknown),
}
_OF_ALL: dict[str, Callable[[TaskRow], str | Cell]] = {
    "status": lambda row: row.status,
    "prediction": lambda row: predicted(row, "–"),
    "size": _size,
    "seconds": lambda row: f"{row.seconds:.3f}",
}
"""The columns of tables of tasks, behind the settings."""


def _tables(
    columns: dict[str, Callable[[TaskRow], str | Cell]],
    rows: Sequence[TaskRow],
    settings: Settings,
    links: set[int],
) -> list[PageTable]:
    """Return the first tasks in tables of 200 lines."""
    heads = ("input", *settings.headings, *columns)
    texts, tables = len(settings.headings) + 3, []
    for first in range(0, min(len(rows), _MOST_LINES), _LINES):
        some = rows[first : min(first + _LINES, _MOST_LINES)]
        lines = [
            (
                Cell(input_name(row), link=anchor(row) if id(row) in links else ""),
                *settings.label(row),
                *(cell(row) for cell in columns.values()),
            )
            for row in some
        ]
        name = f"Tasks {first + 1} to {first + len(some)} of {len(rows)}"
        tables.append(PageTable(name, heads, lines, texts, "sortable"))
    return tables


def _versions(rows: Sequence[TaskRow], examples: dict[str, Result]) -> list[tuple[str, str]]:
    versions = dict.fromkeys(("milp-verix", row.version) for row in rows)
    for result in examples.values():
        versions |= dict.fromkeys(sorted(result.versions.items()))
    return list(versions)


def anchor(row: TaskRow) -> str:
    """Return the name of a task's card in links."""
    return f"task-{row.key[:16]}-{row.index}"


def card(stored: StoredTask, settings: Settings, counterfactuals: int | None) -> dict[str, Any]:
    """Return the card of a task, with so many ``counterfactuals`` at the most.

    By default with 4 of an image, and all of a table, whose change of a few words each takes
    little space.
    """
    row, name = stored.row, input_name(stored.row)
    prediction, said, named = predicted(row), "", False
    try:
        result = stored.read()
        most = counterfactuals
        if most is None:
            most = FEW if image_view(result) is not None else len(result.groups)
        text, shown = outcome(result), view(result, most, f"{name}: features")
        if named := bool(result.class_names):
            prediction = named_prediction(result, result.prediction)
        if result.inputs is not None:
            said = typeset(sentence(result))
    except InputError as error:
        text, shown = "its whole result cannot be read", View(note=str(error))
    text = " · ".join(
        filter(None, (settings.short(row), text, row.reason, seconds_text(row.seconds)))
    )
    return {
        "row": row,
        "name": name,
        "anchor": anchor(row),
        "prediction": prediction,
        "named": named,
        "sentence": said,
        "details": text,
        "shown": shown,
    }


def predicted(row: TaskRow, missing: str = "") -> str:
    """Return the prediction of a task in words, ``missing`` where it has none."""
    return missing if row.prediction is None else typeset(prediction_text(row.prediction, 3))


def input_name(row: TaskRow) -> str:
    """Return ``"Input 12"``, with the name of its file if it has one."""
    return f"Input {row.index}" + (f" ({row.name})" if row.name else "")
