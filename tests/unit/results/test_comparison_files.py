"""Comparisons as CSV: no text is a formula to a spreadsheet, and each comes back as it was."""

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from milp_verix import compare, write_report
from milp_verix.base.errors import printable
from milp_verix.results.comparison_files import harmless, unescaped
from tests.support.digits_example import images, network


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
        ("-2+3", "'-2+3"),
        ("\t=1", "\\t=1"),
        ("a\x1b[2K\u202eb", "a\\x1b[2K\\u202eb"),
        ("-0.5", "-0.5"),
        ("+1e-3", "+1e-3"),
        ("highs", "highs"),
        ("'=1", "'=1"),
    ],
)
def test_cells_are_no_formulas(text: str, cell: str) -> None:
    assert harmless(text) == cell
    assert text.startswith("'") or unescaped(cell) == printable(text)
    assert harmless(-0.5) == -0.5


@pytest.mark.slow
def test_the_csv_has_no_formulas(tmp_path: Path) -> None:
    found = compare(network(), images()[15], epsilon=0.1, solvers=["phase"])
    (run,) = found.runs
    pair = replace(run.pair, solver="=HYPERLINK(0)", formulation="-1+1")
    changed = replace(found, runs=(replace(run, pair=pair, seconds=-0.5),))
    (line,) = csv.DictReader(changed.to_csv(tmp_path / "out.csv").splitlines())
    assert (line["solver"], line["formulation"]) == ("'=HYPERLINK(0)", "'-1+1")
    assert line["seconds"] == "-0.5"
    assert "=HYPERLINK(0)" in write_report(tmp_path / "out.csv")
