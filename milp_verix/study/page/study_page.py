"""The page of a study: what was asked, on what answers rest, summaries, a gallery, what is open."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import milp_verix
from milp_verix.errors import InputError
from milp_verix.records.base import Result
from milp_verix.reporting.figures.style import FREED, typeset
from milp_verix.reporting.pages.claims import claims
from milp_verix.reporting.pages.markup import Html, element, joined
from milp_verix.reporting.pages.page import Section, page
from milp_verix.reporting.pages.tables import facts_table, paged, table
from milp_verix.reporting.words.wording import counted, number, prediction_text
from milp_verix.study.journal import DONE
from milp_verix.study.page.gallery import (
    Stored,
    anchor,
    gallery,
    input_name,
    read_result,
    stored_results,
)
from milp_verix.study.page.reproduction import command, hashes, ranges, shown_command
from milp_verix.study.page.study_rows import (
    Row,
    Settings,
    radius_text,
    read_rows,
    settings_of_rows,
    told,
)
from milp_verix.study.page.summary import distributions, summary, totals

_LINES = 200
_MOST_LINES = 2000
"""Lines of a table before it refers to the journal for the others."""


def study_page(
    journal: Path,
    *,
    results: Path | None,
    most: int,
    counterfactuals: int,
    warn: Callable[[str], None],
) -> str:
    """Return the report of the study in ``journal``, a file or a folder, as HTML.

    ``results`` is a folder of whole results, besides those that the journal names. At ``most`` so
    many of them are shown, spread evenly, each with so many ``counterfactuals``. Raises
    ``InputError`` for a journal that cannot be read or holds no record.
    """
    told = list[str]()

    def tell(text: str) -> None:
        told.append(text.removeprefix(f"{journal}: "))
        warn(text)

    rows = read_rows(journal, tell)
    if not rows:
        raise InputError(f"{journal} holds no record of a task: a study has a line for each")
    if results is not None and not results.is_dir():
        raise InputError(f"results: {results} is no folder; name the one with the whole results")
    settings = settings_of_rows(rows)
    there = stored_results(rows, journal, results)
    chosen = _spread(there, most)
    examples = _examples(there)
    open_rows = [row for row in rows if row.status != DONE]
    links = {id(stored.row) for stored in chosen}
    sections = [
        Section("question", "What was asked", _question(rows, settings, examples, told)),
        Section("grounds", "What the answers rest on", _grounds(settings)),
        Section("summary", "Summary", summary(rows, settings)),
        Section("distributions", "Sizes and times", distributions(rows, settings)),
        Section(
            "gallery",
            "Explanations",
            joined((_told(chosen, there, rows), gallery(chosen, settings, counterfactuals))),
        ),
        Section("open", "Undecided and failed tasks", _open(open_rows, settings, links)),
        Section("tasks", "All tasks", _tasks(rows, settings, links)),
        Section(
            "again", "Versions, and how to do this again", _again(rows, settings, examples, journal)
        ),
    ]
    return page(f"Study {journal.name}", totals(rows), sections, milp_verix.__version__)


def _spread(there: Sequence[Stored], most: int) -> list[Stored]:
    """Return at ``most`` so many of the tasks, evenly from the first to the last."""
    if len(there) <= most:
        return list(there)
    return [there[place * len(there) // most] for place in range(most)]


def _examples(there: Sequence[Stored]) -> dict[str, Result]:
    """Return one whole result for each network and kind of task, for names and versions."""
    found: dict[str, Result] = {}
    for stored in there:
        name = f"{stored.row.network} {stored.row.task}"
        if name not in found:
            try:
                found[name] = read_result(stored)
            except InputError:
                continue
    return found


def _question(
    rows: Sequence[Row], settings: Settings, examples: dict[str, Result], told_of: Sequence[str]
) -> Html:
    files = {name.split()[0]: result.model.file for name, result in examples.items()}
    indices = sorted({row.index for row in rows})
    facts = [
        *(
            ("network", f"{files.get(network, 'file unknown')}, hash {network}")
            for network in settings.networks
        ),
        ("inputs", f"{len(indices)}: {_shortened(ranges(indices))}"),
        ("tasks", ", ".join(settings.tasks)),
        ("radii", ", ".join(radius_text(radius, 6) for radius in settings.radii)),
        *((name.replace("_", " "), ", ".join(_values(rows, name))) for name in settings.varies),
        *(
            ("note", f"{note} ({counted(count, 'task')})")
            for note, count in Counter(note for row in rows for note in row.notes).most_common(12)
        ),
        *(("journal", text) for text in told_of),
    ]
    shared = [
        (name.replace("_", " "), typeset(told(value))) for name, value in settings.shared.items()
    ]
    more = element(
        "details",
        element("summary", f"{counted(len(shared), 'setting')} that all tasks share"),
        facts_table("Settings that all tasks share", shared),
        class_="more",
    )
    return joined((facts_table("The question", facts), *([more] if shared else [])))


def _shortened(text: str) -> str:
    return text if len(text) <= 200 else text[:200].rpartition(",")[0] + ", …"


def _values(rows: Sequence[Row], name: str) -> list[str]:
    return list(dict.fromkeys(told(row.setting[name]) for row in rows if name in row.setting))


def _grounds(settings: Settings) -> Html:
    shared = settings.shared
    tolerances = shared.get("tolerances")
    exactness = [str(shared["exactness"])] if "exactness" in shared else []
    return claims(settings.tasks, tolerances if isinstance(tolerances, dict) else None, exactness)


def _told(chosen: Sequence[Stored], there: Sequence[Stored], rows: Sequence[Row]) -> Html:
    """Return what the gallery shows, and how to get what it lacks."""
    key = element(
        "ul",
        element("li", element("span", "in the explanation", class_="status explanation")),
        element("li", element("span", "undecided", class_="status undecided")),
        element("li", element("span", "irrelevant", class_="status irrelevant")),
        element("li", element("span", "stays as it is: no room to change", class_="status still")),
        element("li", element("span", "+ red", class_="rise"), ": the counterfactual is higher"),
        element("li", element("span", "− blue", class_="fall"), ": it is lower"),
        element("li", f"outlined: {FREED}"),
        class_="key",
    )
    lacking = sum(row.size is not None or row.robust for row in rows) - len(there)
    notes = []
    if len(chosen) < len(there):
        notes.append(
            f"{len(chosen)} of {len(there)} explanations are shown, spread evenly: --gallery takes "
            "another number."
        )
    if lacking > 0:
        notes.append(
            f"{counted(lacking, 'task')} without a whole result: pictures and counterfactuals need "
            "one. Results that are not in the journal's folder are read from --results FOLDER; a "
            "study with --no-results has none."
        )
    return joined((*(element("p", note) for note in notes), *([key] if chosen else [])))


def _name(row: Row, links: set[int]) -> Html:
    name = input_name(row)
    return element("a", name, href=f"#{anchor(row)}") if id(row) in links else element("span", name)


def _open(rows: Sequence[Row], settings: Settings, links: set[int]) -> Html:
    if not rows:
        return element("p", "None: every task is done.")
    reasons = Counter((row.status, row.reason or "no reason recorded") for row in rows)
    counts = table(
        "Reasons",
        ("reason", "status", "tasks"),
        [(why, status, str(count)) for (status, why), count in reasons.most_common(50)],
        texts=2,
    )
    heads = ("input", *settings.headings, "status", "reason", "size", "bound", "undecided features")
    lines = [
        (
            _name(row, links),
            *settings.label(row),
            element("span", row.status, class_=f"status {row.status}"),
            row.reason or "–",
            "–" if row.size is None else str(row.size),
            "–" if row.lower_bound is None else number(row.lower_bound),
            str(row.unknown),
        )
        for row in rows[:_MOST_LINES]
    ]
    texts = len(heads) - 3
    return joined((counts, _pages("Tasks", heads, lines, texts, len(rows), open_=True)))


def _tasks(rows: Sequence[Row], settings: Settings, links: set[int]) -> Html:
    heads = ("input", *settings.headings, "status", "prediction", "size", "seconds")
    lines = [
        (
            _name(row, links),
            *settings.label(row),
            row.status,
            "–" if row.prediction is None else typeset(prediction_text(row.prediction, 3)),
            "–" if row.size is None else str(row.size),
            f"{row.seconds:.3f}",
        )
        for row in rows[:_MOST_LINES]
    ]
    return _pages("Tasks", heads, lines, len(heads) - 2, len(rows), open_=False)


def _pages(
    what: str,
    heads: Sequence[str],
    lines: Sequence[Sequence[str]],
    texts: int,
    count: int,
    *,
    open_: bool,
) -> Html:
    """Return a long table in pages; say so where the journal has more lines."""
    pages = []
    for first in range(0, len(lines), _LINES):
        some = lines[first : first + _LINES]
        name = f"{what} {first + 1} to {first + len(some)} of {count}"
        pages.append((name, table(name, heads, some, texts=texts, sortable=True)))
    shown = paged(pages, open_=open_)
    if len(lines) == count:
        return shown
    return joined(
        (shown, element("p", "The others are in the journal: milp_verix.read_study reads it."))
    )


def _again(
    rows: Sequence[Row], settings: Settings, examples: dict[str, Result], journal: Path
) -> Html:
    models = list(dict.fromkeys(result.model.file for result in examples.values()))
    versions = dict.fromkeys(("milp-verix", version) for row in rows for version in [row.version])
    for result in examples.values():
        versions |= dict.fromkeys(sorted(result.versions.items()))
    return joined(
        (
            element("p", "The same command goes on where the journal ends, or makes it anew:"),
            shown_command(command(rows, settings, journal.name, models)),
            element(
                "p",
                "Names in capitals stand for files and arguments that the journal knows by their "
                "hash. A task's key is a hash of network, input, settings and version.",
            ),
            facts_table("SHA-256 of the journal", hashes(journal)),
            facts_table("Versions", list(versions)),
        )
    )
