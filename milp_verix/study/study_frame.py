"""The table of a study as a DataFrame of pandas whose ``plot()`` draws the part of each column."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pandas as pd
from pandas.plotting import PlotAccessor

from milp_verix.results.comparison_files import harmless
from milp_verix.study.table import use_of_columns

if TYPE_CHECKING:
    from milp_verix.views.style import Drawing
    from milp_verix.views.text_tables import TableUse


class StudyPlots(PlotAccessor):  # type: ignore[misc]
    """``plot()`` draws the study; with arguments of pandas, and as ``plot.bar`` …, pandas draws."""

    def __call__(self, path: str | Path | None = None, *args: Any, **options: Any) -> Any:
        """Draw how often decisions need each column; write it to ``path`` if given.

        ``results`` is a folder of whole results, if they are not beside the journal.
        """
        if args or {*options} - {"results"}:
            return super().__call__(*(() if path is None else (path,)), *args, **options)
        return self._parent.plot_columns(path, **options)


class StudyFrame(pd.DataFrame):  # type: ignore[misc]
    """The tasks of a study, a row each; rows that were chosen from it are such a table, too."""

    _metadata = ["journal"]  # noqa: RUF012 - pandas carries these attributes along
    journal: Path

    @property
    def _constructor(self) -> type["StudyFrame"]:
        return StudyFrame

    @property
    def plot(self) -> StudyPlots:
        """A picture of the columns by ``plot()``, and the plots of pandas."""
        return StudyPlots(self)

    def to_csv(self, *args: Any, **options: Any) -> str | None:
        """Write the table as pandas does; no spreadsheet or terminal obeys its cells."""
        frame = self.map(harmless).rename(columns=harmless)
        return cast(str | None, pd.DataFrame.to_csv(frame, *args, **options))

    def columns_used(self, results: str | Path | None = None) -> "TableUse":
        """Return how often the decisions in these rows need each column of the input.

        ``results`` is a folder of whole results, if they are not beside the journal. Raises
        ``InputError`` without a whole explanation.
        """
        folder = None if results is None else Path(results)
        return use_of_columns(self.journal, folder, warnings.warn, [*self["key"]])

    def plot_columns(
        self, path: str | Path | None = None, *, results: str | Path | None = None
    ) -> "Drawing":
        """Draw :meth:`columns_used`; write the picture to ``path`` if given."""
        from milp_verix.views.plot import plot_columns

        return plot_columns(self.columns_used(results), path)
