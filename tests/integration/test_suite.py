"""The suite of networks: its score, its journal, its tables, its cases and its runs."""

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from milp_verix import load_network
from tests.support.onnx_models import assert_agrees
from tests.support.published_data import shared_file
from tests.support.repository import ROOT

CASES = {
    "mnist-10x2-wide": 784,
    "fame-gtsrb-cnn": 1024,
    "cifar-base-kw": 1024,
    "adult-AC-4": 13,
    "acasxu-1-1": 5,
    "marabou-cnn-max": 784,
}


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import suite
    import suite_cases
    import suite_networks
    import suite_processes
    import suite_tables

    return SimpleNamespace(
        suite=suite,
        cases=suite_cases,
        networks=suite_networks,
        processes=suite_processes,
        tables=suite_tables,
    )


def record(case: str, solver: str, seconds: float, undecided: int = 0, **more: Any) -> dict:
    return {
        "case": case,
        "digest": "d",
        "solver": solver,
        "limit": 60.0,
        "commit": "`new`",
        "features": 20,
        "size": 7,
        "undecided": undecided,
        "seconds": seconds,
        "cpu": seconds,
        **more,
    }


def test_the_score_counts_the_limit_for_each_undecided_feature(modules: SimpleNamespace) -> None:
    assert modules.tables.score(record("a", "auto", 3.5)) == 3.5
    assert modules.tables.score(record("a", "auto", 3.5, 2)) == 123.5
    assert modules.tables.score(record("a", "auto", 90.0, 20, error="killed")) == 1290.0


def test_a_journal_goes_on_behind_a_line_that_was_cut_short(
    modules: SimpleNamespace, tmp_path: Path
) -> None:
    journal = tmp_path / "runs.jsonl"
    assert modules.suite.read(journal) == []
    whole = [
        record("a", "auto", 1.0),
        record("a", "split", 0.0, unavailable="unknown solver"),
        record("b", "auto", 1.0, commit="`new` with changes"),
    ]
    text = "".join(json.dumps(entry) + "\n" for entry in whole)
    journal.write_text(text + '{"case": "c", "sol')
    assert modules.suite.read(journal) == whole
    assert journal.read_text() == text
    assert modules.suite.finished(whole) == {("a", "d", "auto", 60.0, "`new`")}


def test_columns_hold_the_newest_records_of_the_same_case(modules: SimpleNamespace) -> None:
    records = [
        record("a", "auto", 9.0, commit="`old`"),
        record("a", "phase", 9.0, commit="`old`"),
        record("a", "auto", 8.0, digest="of other weights"),
        record("a", "auto", 7.0, limit=5.0),
        record("a", "highs", 6.0, unavailable="not installed"),
        record("a", "phase", 5.0),
        record("a", "auto", 4.0),
        record("a", "auto", 3.0, commit="`newer`"),
    ]
    columns = modules.tables.chosen(records, 60.0, "old")
    found = {title: [column["a"]["seconds"]] for title, column in columns.items()}
    assert found == {"auto before": [9.0], "auto": [3.0], "phase": [5.0]}
    assert modules.tables.sources(columns) == "auto before: `old`; auto: `newer`; phase: `new`."


def test_tables_of_records(modules: SimpleNamespace) -> None:
    stages = [
        {"stage": "bounds", "features": 13, "seconds": 0.1},
        {"stage": "solves", "features": 0, "seconds": 0.1},
    ]
    solvers = [{"solver": "split", "checks": 3, "seconds": 1.0}]
    records = [
        record("a", "auto", 60.0, 1, commit="`old`"),
        record("a", "auto", 4.0, stages=stages, solvers=solvers, peak=314_000_000),
        record("a", "phase", 90.0, 20, error="killed 30 s past its limit"),
        record("a", "highs", 2.0),
        record("a", "gurobi", 0.5),
        record("b", "auto", 9.0, stages=stages),
        record("b", "highs", 3.0),
    ]
    columns = modules.tables.chosen(records, 60.0, "old")
    assert str(modules.tables.case_table(columns)).splitlines() == [
        "| case | features | auto before | auto | phase | highs | gurobi | best single | ratio "
        "| in target | peak MB | decided by |",
        f"|---|{'---:|' * 11}",
        "| a | 20 | 7/1 60.0 | 7/0 4.0 | failed 90.0 | 7/0 2.0 | 7/0 0.5 | highs | 2.00 | yes "
        "| 314 | bounds 13; checks by split 3 |",
        "| b | 20 | – | 7/0 9.0 | – | 7/0 3.0 | – | highs | 3.00 | no | – | bounds 13 |",
    ]
    assert str(modules.tables.score_table(columns)).splitlines()[2:] == [
        "| auto before | 1 | – | 1 | 0 | 0 | 60 | 60 | – | 60.00 | 60.00 | 1 |",
        "| auto | 2 | 13 | 0 | 0 | 0 | 13 | 13 | 314 | 2.50 | 3.00 | 1 |",
        "| phase | 1 | – | 20 | 1 | 1 | 90 | 90 | – | 645.00 | 645.00 | 1 |",
        "| highs | 2 | 5 | 0 | 0 | 0 | 5 | 5 | – | 1.00 | 1.00 | 0 |",
        "| gurobi | 1 | – | 0 | 0 | 0 | 0 | 0 | – | 0.25 | 0.25 | 0 |",
    ]


def test_tables_are_written_with_their_commits_and_command(
    modules: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    document, journal = tmp_path / "RESULTS.md", tmp_path / "runs.jsonl"
    document.write_text("# Results\n\n<!-- begin suite -->\n<!-- end suite -->\n")
    more = {"date": "2026-01-02", "versions": {"python": "3", "phase": "1.2"}}
    run = record("a", "auto", 1.0, **more)
    journal.write_text(json.dumps(run) + "\n")
    monkeypatch.setattr(modules.suite.tables, "RESULTS", document)
    monkeypatch.setattr(modules.suite.tables, "MEASURED", tmp_path)
    options = ["--journal", str(journal), "--tables", "--write", "suite"]
    monkeypatch.setattr("sys.argv", ["benchmarks/suite.py", *options])
    modules.suite.main()
    text = document.read_text()
    assert re.search(r"^Commit `new`, 2026-01-02; .*, phase 1\.2\.$", text, re.MULTILINE)
    assert "\npython benchmarks/suite.py --journal runs.jsonl --tables --write suite\n" in text
    assert "Limit 60 s. The score of a run is seconds + limit × undecided;" in text
    assert "\nCommits are auto: `new`.\n" in text
    assert "\n| a | 20 | 7/0 1.0 | – | – | – | – | – |\n" in text
    assert text.endswith("|\n<!-- end suite -->\n")


@pytest.mark.parametrize("name", CASES)
def test_a_case_is_prepared(name: str, modules: SimpleNamespace, tmp_path: Path) -> None:
    case = modules.cases.CASES[name]
    shared_file(case.network)
    request = modules.cases.prepare(case, tmp_path)
    assert request.features == CASES[name]
    assert json.loads(json.dumps(request.arguments)) == request.arguments
    wrong = modules.cases.Case(**{**vars(case), "label": case.label + 1})
    with pytest.raises(ValueError, match=f"predicts {case.label}, not {case.label + 1}"):
        modules.cases.prepare(wrong, tmp_path)


def test_a_case_without_its_files_is_skipped_by_name(
    modules: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any
) -> None:
    monkeypatch.setattr(modules.cases, "SHARED", tmp_path)
    assert list(modules.suite.prepared(["mnist-10x2"], tmp_path)) == []
    assert capsys.readouterr().out == "skipped mnist-10x2: models/mnist-10x2.onnx is not here\n"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["digits-pooled", "digits-residual", "digits-tanh"])
def test_a_network_is_made_once(
    name: str, modules: SimpleNamespace, tmp_path: Path, capsys: Any
) -> None:
    pytest.importorskip("sklearn", reason="scikit-learn fits the networks")
    path = modules.networks.made(name, tmp_path)
    accuracy = float(capsys.readouterr().out.partition(": ")[2].partition("%")[0])
    assert accuracy > 90
    assert_agrees(load_network(path), tolerance=1e-4)
    assert modules.networks.made(name, tmp_path) == path
    assert capsys.readouterr().out == ""


@pytest.mark.slow
def test_a_run_ends_in_a_record(
    modules: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    request = modules.cases.prepare(modules.cases.CASES["digits-l1"], tmp_path)
    solvers = ("auto", "nosuch", "highs")
    tasks = [modules.processes.Task(request, solver, 30.0, ROOT) for solver in solvers]
    found = {task.solver: record for task, record in modules.processes.run(tasks[:2], jobs=2)}
    assert set(found) == {"auto", "nosuch"}
    assert "unknown solver 'nosuch'" in found["nosuch"]["unavailable"]
    default = found["auto"]
    assert default["stopped"] is None
    assert (default["undecided"], default["failing"]) == (0, 0)
    assert 0 < default["size"] == default["counterfactuals"] < request.features
    assert sum(stage["features"] for stage in default["stages"]) == request.features
    assert default["seconds"] > 0 < default["cpu"]
    assert 10**8 < default["peak"] < 10**10

    monkeypatch.setattr(modules.processes, "GRACE", -30.0)
    ((_, killed),) = modules.processes.run(tasks[2:], jobs=1)
    assert killed["error"].startswith("killed")
    assert killed["undecided"] == request.features == 64
