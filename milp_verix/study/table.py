"""The journal of a study as a table, and the part that each column plays in its decisions.

The tasks that count are explanations by one setting: the one with the most of them. A column is
*needed* by a decision if its explanation has the column. It *stays as it is* if no input in
question has another value of it, which proves nothing of its part. Otherwise it *plays no part* if
it is in no minimal explanation at all. That is proven where the explanation ``A`` is the only
minimal one, and does not have it. ``A`` is the only one if each feature of it is necessary, that
is, if its counterfactual changes this feature alone: then every explanation has all of ``A``, and a
minimal one no more.
"""

import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from milp_verix.base.arguments import checked, path_of
from milp_verix.base.errors import InputError
from milp_verix.base.number_text import nearest
from milp_verix.inputs.frame import pandas
from milp_verix.results.base import difference_of
from milp_verix.results.explanation import Explanation
from milp_verix.results.json_format import load
from milp_verix.study.journal import Record, best_records
from milp_verix.study.study_summary import StoredTask, radius_text, read_rows, stored_results
from milp_verix.views.facts import domain_parts
from milp_verix.views.labels import labels_of
from milp_verix.views.text_tables import ColumnUse, TableUse
from milp_verix.views.wording import norm_suffix, restrictions

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
    from milp_verix.study.study_frame import StudyFrame  # it loads pandas

    rows = [_row(record) for record in best_records(path_of(path, "path"), warn)]
    names = list(dict.fromkeys([*COLUMNS, *(name for row in rows for name in row)]))
    table = StudyFrame(pd.DataFrame(rows, columns=names))
    table.journal = path_of(path, "path")
    return cast("StudyFrame", table.sort_values("index", kind="stable", ignore_index=True))


def _row(record: Record) -> dict[str, Any]:
    settings = record.get("settings", {})
    named = {name: value for name, value in settings.items() if name not in record}
    return {**{name: value for name, value in record.items() if name != "settings"}, **named}


_KINDS = ("minimum", "explain")
_ALWAYS = 2 / 3


class _Counts:
    """Counts over the explanations of one setting."""

    def __init__(self, first: Explanation) -> None:
        labels = labels_of(first)
        self.names = [labels[place] for place in range(len(first.groups))]
        self.kinds = () if first.inputs is None else first.inputs.features
        self.decisions: Counter[str] = Counter()
        self.needed: dict[str, Counter[int]] = defaultdict(Counter)
        self.open: Counter[int] = Counter()
        self.no_part: Counter[int] = Counter()
        self.still: Counter[int] = Counter()
        self.values: dict[int, list[float | str]] = defaultdict(list)

    def add(self, result: Explanation) -> None:
        label = class_of(result)
        self.decisions[label] += 1
        self.needed[label].update(result.explanation)
        self.open.update(result.unknown)
        self.no_part.update(without_part(result))
        self.still.update({*result.still} - {*result.explanation})
        x = result.input.reshape(-1)
        texts = () if result.inputs is None else result.inputs.texts(result.input)
        for feature in result.explanation:
            if result.inputs is None and len(result.groups[feature]) > 1:
                continue  # several numbers
            words = texts and self.kinds[feature].values
            value = texts[feature] if words else float(x[result.groups[feature][0]])
            self.values[feature].append(value)

    def use(self, question: str) -> TableUse:
        """Return the shares of all columns, the one that is needed most often first."""
        classes = tuple(sorted(self.decisions.items()))
        every = sum(self.decisions.values())
        columns = []
        for place, name in enumerate(self.names):
            needed = [self.needed[label][place] for label, _ in classes]
            shares = tuple(n / count for n, (_, count) in zip(needed, classes, strict=True))
            counts = sum(needed), self.open[place], self.no_part[place], self.still[place]
            in_all, open_, no_part, still = (count / every for count in counts)
            typical = self._typical(place)
            columns.append(ColumnUse(name, shares, in_all, open_, no_part, still, typical))
        columns.sort(key=lambda column: (-column.in_all, column.no_part))
        return TableUse(tuple(columns), classes, question)

    def _typical(self, feature: int) -> str:
        """Return the middle half of the kept numbers, or the most frequent words."""
        values = self.values[feature]
        if not values:
            return ""
        words = [value for value in values if isinstance(value, str)]
        if words:
            parts, left = [], len(values) * _ALWAYS
            for word, count in Counter(words).most_common(3):
                parts.append(word)
                if (left := left - count) <= 0:
                    break
            return ", ".join(parts)
        ends = np.quantile(np.array(values, dtype=np.float64), [0.25, 0.75], method="nearest")
        unit = f" {self.kinds[feature].unit or ''}".rstrip() if self.kinds else ""
        low, high = (nearest(float(end)) for end in ends)
        return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"


def without_part(result: Explanation) -> tuple[int, ...]:
    """Return the features that move, and provably are in no minimal explanation of the decision."""
    if result.unknown or not all(_necessary(result, one) for one in result.explanation):
        return ()
    kept = {*result.still, *result.explanation}
    return tuple(feature for feature in range(len(result.groups)) if feature not in kept)


def _necessary(result: Explanation, feature: int) -> bool:
    """Return whether a change of the feature alone changes the prediction, as its witness shows."""
    found = result.counterfactuals.get(feature)
    if found is None:
        return False
    moved = np.flatnonzero((found.input != result.input).reshape(-1))
    return {*moved.tolist()} <= {*result.groups[feature]}


def class_of(result: Explanation) -> str:
    """Return the name of the decision: of its class, or of all values of a regression."""
    if not isinstance(result.prediction, int):
        return "all values"
    names = result.class_names
    return names[result.prediction] if result.prediction < len(names) else str(result.prediction)


def use_of_columns(
    journal: Path,
    results: Path | None,
    warn: Callable[[str], None],
    keys: Iterable[str] | None = None,
) -> TableUse:
    """Return the part that columns play in the study of ``journal``, a file or a folder.

    ``results`` is a folder of whole results, beside those that the journal names; ``keys`` are the
    tasks that count, all by default. Raises ``InputError`` without a whole explanation.
    """
    wanted = None if keys is None else {*keys}
    rows = [row for row in read_rows(journal, warn) if wanted is None or row.key in wanted]
    return use_in(stored_results(rows, journal, results), journal)


def use_in(stored: Sequence[StoredTask], journal: Path) -> TableUse:
    """Return the part that columns play in stored explanations; raises as the function above."""
    found = defaultdict[Any, list[StoredTask]](list)
    for one in stored:
        if one.row.task in _KINDS and one.row.size is not None:
            group = one.row.network, str(one.row.epsilon), id(one.row.setting), one.row.task
            found[group].append(one)
    tally: _Counts | None = None
    tasks = max(found.values(), key=len, default=[])
    for one in tasks:
        with suppress(InputError):
            result = load(one.path, Explanation)
            if tally is None:
                tally, first = _Counts(result), result
            if not difference_of(first, result, ("input", "prediction")):
                tally.add(result)
    if tally is not None:
        row = tasks[0].row
        radius = f"ε = {radius_text(row.epsilon)}{norm_suffix(first)}"
        parts = [row.task, radius, *restrictions(first), *domain_parts(first)]
        return tally.use(", ".join(parts))
    raise InputError(
        f"{journal} has no explanation with a whole result: columns are counted over the results "
        "of explain or minimum, which a study keeps unless it is asked not to"
    )
