"""The journal of a study as a table."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from milp_verix.base.argument_kinds import checked
from milp_verix.base.arguments import path_of
from milp_verix.inputs.frame import pandas
from milp_verix.study.journal import Record, best_records

if TYPE_CHECKING:
    from milp_verix.study.study_frame import StudyFrame

COLUMNS = (
    *("key", "index", "name", "task", "epsilon", "status", "size", "explanation", "unknown"),
    *("prediction", "lower_bound", "robust", "seconds", "reason", "notes"),
    *("result", "network", "version"),
)
"""The columns that every table has; the settings follow them."""


@checked()
def read_study(path: str | Path, *, warn: Callable[[str], None] = warnings.warn) -> "StudyFrame":
    """Return the journal at ``path``, a file or a folder, as a pandas DataFrame: a row for a task.

    Rows are sorted by ``index``. ``explanation`` and ``unknown`` hold lists of features,
    ``lower_bound`` and ``seconds`` numbers, ``reason`` why a task is undecided or failed,
    ``result`` the path that :func:`milp_verix.read_result` reads. Each setting is a column of its
    own: ``order``, ``norm``, … A task with several records has the best of them.
    ``to_parquet`` and ``to_csv`` of the table write it. ``plot()`` draws how often the decisions
    need each column of the input. ``warn`` is called for each line that is no
    record, and where records stand twice or are by several versions.

    Raises ``InputError`` for a journal that cannot be read or has a record with a wrong field, and
    where pandas is not installed.
    """
    pd = pandas()
    rows = [_row(record) for record in best_records(path_of(path, "path"), warn)]
    names = list(dict.fromkeys([*COLUMNS, *(name for row in rows for name in row)]))
    from milp_verix.study.study_frame import StudyFrame

    table = StudyFrame(pd.DataFrame(rows, columns=names))
    table.journal = path_of(path, "path")
    return cast(StudyFrame, table.sort_values("index", kind="stable", ignore_index=True))


def _row(record: Record) -> dict[str, Any]:
    settings = record.get("settings", {})
    named = {name: value for name, value in settings.items() if name not in record}
    return {**{name: value for name, value in record.items() if name != "settings"}, **named}
