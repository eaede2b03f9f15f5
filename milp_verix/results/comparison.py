"""Comparisons that users see: records with methods that store, show and draw them."""

from pathlib import Path
from typing import TYPE_CHECKING

from milp_verix.inputs.frame import pandas
from milp_verix.results import comparison_files, shown
from milp_verix.results.records import comparison
from milp_verix.results.records.explanation import Explanation

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from rich.table import Table


class Run(comparison.RunRecord):
    """The answers of one pair of solver and formulation, and the effort that they took.

    The fields are documented in :class:`milp_verix.results.records.comparison.RunRecord`.
    """

    __module__ = "milp_verix"
    __slots__ = ()

    explanation: Explanation | None


class Comparison(comparison.ComparisonRecord):
    """The same question to several pairs of solver and formulation, and whether they agree.

    The fields are documented in :class:`milp_verix.results.records.comparison.ComparisonRecord`.
    """

    __module__ = "milp_verix"
    __slots__ = ()

    runs: tuple[Run, ...]

    def to_json(self, path: str | Path | None = None, *, indent: int | None = None) -> str:
        """Return the comparison as JSON, and write it to ``path`` if given."""
        return comparison_files.write_json(self, path, indent=indent)

    def to_csv(self, path: str | Path | None = None) -> str:
        """Return a line for each run as CSV, and write it to ``path`` if given."""
        return comparison_files.write_csv(self, path)

    def each_to_csv(self, path: str | Path | None = None) -> str:
        """Return a line for each check and run as CSV, and write it to ``path`` if given.

        The columns are the fields of
        :class:`~milp_verix.results.records.comparison.CheckRecord`; what a solver does not tell
        is empty. Raises ``InputError`` for a comparison of explanations, whose checks differ.
        """
        return comparison_files.write_each(self, path)

    def each(self) -> "pd.DataFrame":
        """Return the same as a pandas DataFrame: a row for each check and run.

        Raises as :meth:`each_to_csv` does, and ``InputError`` where pandas is not installed.
        """
        columns = comparison_files.EACH_COLUMNS
        return pandas().DataFrame(comparison_files.each_line(self), columns=list(columns))

    def table(self) -> "Table":
        """Return a rich table with a row for each run."""
        return shown.comparison_table(self)

    def plot(self, path: str | Path | None = None) -> "Figure":
        """Draw how long each run took, and on what; write it to ``path`` if given."""
        return shown.comparison_plot(self, path)

    def write_disagreements(self, folder: str | Path = ".") -> list[Path]:
        """Write each disagreement to ``disagreement-N.lp`` in ``folder``; return the paths."""
        paths = [Path(folder) / f"disagreement-{i + 1}.lp" for i in range(len(self.disagreements))]
        for disagreement, path in zip(self.disagreements, paths, strict=True):
            disagreement.write(path)
        return paths

    def _repr_html_(self) -> str:
        return shown.comparison_html(self)
