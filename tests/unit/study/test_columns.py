"""The part of columns over a study, against the lists of all minimal explanations."""

from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import milp_verix
from milp_verix import (
    InputError,
    Inputs,
    binary,
    explain_many,
    fixed,
    integer,
    read_study,
    write_report,
)
from milp_verix.study.table import use_of_columns, without_part
from milp_verix.views.text_tables import ColumnUse, TableUse, columns_sentence, columns_table
from tests.support.command_line import run_here
from tests.support.mixed_domains import MixedCase, mixed_case
from tests.support.pages import check_page, image, study
from tests.support.random_networks import as_layers, dense_network


def _study(case: MixedCase, folder: Path, count: int = 8) -> tuple[Path, list[MixedCase]]:
    """Return the journal of a study of some points of a case, and a case for each."""
    rng = np.random.default_rng(3)
    every = [case.x, *case.points(range(len(case.features)))]
    chosen = [every[place] for place in rng.choice(len(every), count, replace=False)]
    cases = [replace(case, x=tuple(map(int, point))) for point in chosen]
    rows = np.array([one.point for one in cases])
    journal = folder / "study.jsonl"
    explain_many(
        case.network(folder), rows, journal=journal, inputs=case.inputs, epsilon=case.epsilon
    )
    return journal, cases


@pytest.mark.parametrize("seed", range(100, 110))
def test_shares_are_those_of_the_explanations(seed: int, tmp_path: Path) -> None:
    case = mixed_case(seed, rules=False)
    journal, cases = _study(case, tmp_path)
    table = read_study(journal)
    use = table.columns_used()
    assert use.decisions == len(cases) == sum(count for _, count in use.classes)
    assert {column.name for column in use.columns} == {feature.name for feature in case.features}
    names = [feature.name for feature in case.features]
    for column in use.columns:
        place = names.index(column.name)
        kept = [place in explanation for explanation in table.explanation]
        assert column.in_all == np.mean(kept)
        for (label, count), share in zip(use.classes, column.needed, strict=True):
            own = table[table.prediction == int(label)]
            assert count == len(own)
            assert share == np.mean([place in explanation for explanation in own.explanation])
        # proven to play no part: in no minimal explanation of so many decisions at least
        never = [not any(place in one for one in case_.minimal()[0]) for case_ in cases]
        assert column.no_part <= np.mean(never) + 1e-12
    assert [column.in_all for column in use.columns] == sorted(
        (column.in_all for column in use.columns), reverse=True
    )


@pytest.mark.slow
def test_no_part_is_proven_where_each_kept_feature_is_necessary(tmp_path: Path) -> None:
    proven = 0
    for seed in range(100, 115):
        for rules in (False, True):
            case = mixed_case(seed, rules=rules)
            found = milp_verix.explain(
                case.network(tmp_path), case.point, inputs=case.inputs, epsilon=case.epsilon
            )
            minimal, _ = case.minimal()
            for feature in without_part(found):
                proven += feature not in found.still
                assert not any(feature in one for one in minimal)
    assert proven


def test_a_column_that_was_held_plays_an_unknown_part(tmp_path: Path) -> None:
    # granted where income - 8 sex > 3.5: sex alone decides; debt plays no part, within its room
    network = dense_network(as_layers(([[0, 0, 0], [1, -8, 0]], [0, -3.5])), tmp_path)
    features = [integer("income", 0, 10), fixed("sex"), integer("debt", 0, 10)]
    inputs = Inputs(features, class_names=["refused", "granted"])
    journal, rows = tmp_path / "study.jsonl", np.array([[9, 0, 1], [4, 0, 2], [10, 1, 3.0]])
    explain_many(network, rows, journal=journal, inputs=inputs, epsilon=np.inf)
    use = use_of_columns(journal, None, pytest.fail)
    shares = {column.name: (column.no_part, column.still) for column in use.columns}
    assert (shares["sex"], shares["debt"]) == ((0, 1), (1, 0))
    assert columns_sentence(use) == (
        "Explanations of 3 decisions (explain, ε = ∞) have income in 66 % of the cases. debt "
        "provably plays no part in any of them. Nothing is proven of the part of sex, held in all "
        "of them."
    )
    ended = run_here("columns", journal, "--plot", tmp_path / "columns.svg")
    assert columns_sentence(use) in " ".join(ended.stdout.split())
    picture = (tmp_path / "columns.svg").read_text(encoding="utf-8")
    assert "stays as it is" in picture or "<path" in picture
    page = write_report(journal)
    check_page(page)
    told = page.split("<h3>sex</h3>")[1].split("</li>")[0]
    assert "stays as it is in 100 %" in told
    assert "no part" not in told


def test_the_sentence_on_columns_of_arrays_tells_the_norm_and_the_domain(tmp_path: Path) -> None:
    network = dense_network(as_layers(([[0, 0], [1, 0]], [0, -3.5])), tmp_path)
    journal, rows = tmp_path / "study.jsonl", np.array([[3, 0], [4, 0.0]])
    explain_many(network, rows, journal=journal, epsilon=1, norm="l2", domain=(0, 5))
    told = columns_sentence(use_of_columns(journal, None, pytest.fail))
    assert "2 decisions (explain, ε = 1 (L2), domain 0 to 5)" in told


def test_shares_count_each_row_by_its_own_ball(tmp_path: Path) -> None:
    # what a rule leaves no room in one row may move in another
    network = dense_network(as_layers(([[0, 0], [1, -8]], [0, -3.5])), tmp_path)
    inputs = Inputs([integer("income", 0, 10), binary("sex")], ["sex <= 10 - income"])
    journal, rows = tmp_path / "study.jsonl", np.array([[10, 0], [9, 0.0]])
    radii = {"income": 0, "sex": 1}
    explain_many(network, rows, journal=journal, inputs=inputs, epsilon=radii)
    shares = {c.name: c for c in use_of_columns(journal, None, pytest.fail).columns}
    assert (shares["sex"].still, shares["sex"].in_all, shares["sex"].no_part) == (0.5, 0.5, 0)
    assert shares["income"].still == 1


def test_rows_that_are_chosen_are_those_counted(tmp_path: Path) -> None:
    journal, _ = _study(mixed_case(103, rules=False), tmp_path)
    table = read_study(journal)
    some = table[table.prediction == table.prediction.iloc[0]]
    assert some.columns_used().decisions == len(some) < len(table)
    some.plot(tmp_path / "some.png")
    assert (tmp_path / "some.png").stat().st_size > 0
    axes = table.plot(kind="line", x="index", y="size")  # pandas' own plots are there, too
    assert len(axes.lines) == 1


def test_the_command_and_the_page_tell_the_same(tmp_path: Path) -> None:
    journal, _ = _study(mixed_case(103, rules=False), tmp_path)
    use = use_of_columns(journal, None, pytest.fail)
    ended = run_here("columns", journal, "--plot", tmp_path / "columns.svg")
    assert ended.returncode == 0, ended.stderr
    page = write_report(journal)
    check_page(page)
    for column in use.columns:
        assert column.name in ended.stdout
        assert f"<h3>{column.name}</h3>" in page
    assert "becomes" in page


def test_a_study_without_results_has_no_columns(tmp_path: Path) -> None:
    journal = study(tmp_path, image(1), whole=False)
    with pytest.raises(InputError, match="no explanation with a whole result"):
        read_study(journal).plot()
    ended = run_here("columns", journal)
    assert ended.returncode == 2
    assert "whole result" in ended.stderr
    assert "Columns are counted for tables" in write_report(journal)


def test_control_characters_of_names_show_as_escapes() -> None:
    """A line break in a name would look like another line of the table."""
    column = ColumnUse("b\nX", (1.0,), 1.0, 0.0, 0.0, 0.0, "0 \x1b")
    use = TableUse((column,), (("no\u2028", 2),), "explain")
    assert (
        columns_sentence(use)
        == "Explanations of 2 decisions (explain) have b\\nX in 100 % of the cases."
    )
    shown = StringIO()
    Console(file=shown, width=200).print(columns_table(use))
    assert {"b\\nX", "\\x1b", "no\\u2028"} <= {*shown.getvalue().split()}
