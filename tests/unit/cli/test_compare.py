"""``milp-verix compare`` on the command line, in this process."""

import csv
import json
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from typer.testing import CliRunner, Result

from milp_verix.cli.app import app
from milp_verix.comparison.contradictions import contradictions
from milp_verix.oracle.oracle import Oracle
from milp_verix.results.comparison import Comparison
from tests.support.digits_example import IMAGES, MODEL, explained
from tests.support.lying_solvers import all_holds, at_call, ctrl_c, honest, register
from tests.support.repository import FIXTURES

GIVEN = (MODEL, f"{IMAGES}:images[15]", "--epsilon", 0.1)


def run(*arguments: object, given: tuple[object, ...] = GIVEN) -> Result:
    return CliRunner().invoke(app, ["compare", *map(str, (*given, *arguments))])


def lines(result: Result) -> list[list[str]]:
    return [line.split() for line in result.stdout.splitlines()]


def test_a_table_and_every_kind_of_file(tmp_path: Path) -> None:
    out, table, picture = (tmp_path / name for name in ("out.json", "out.csv", "out.png"))
    done = run(
        *("--solvers", "highs,cbc,phase", "--formulations", "big_m,partition:4"),
        *("--json", out, "--csv", table, "--plot", picture, "--task", "explain"),
    )
    assert done.exit_code == 0, done.output
    assert done.stderr == ""
    head, *rows = lines(done)
    assert head[:5] == ["solver", "formulation", "size", "unknown", "seconds"]
    size = str(explained().size)
    expected = [("highs", "big_m"), ("highs", "partition:4"), ("cbc", "big_m")]
    expected += [("phase", "big_m"), ("phase", "partition:4")]
    assert [row[:4] for row in rows[:5]] == [[*pair, size, "0"] for pair in expected]
    assert all(len(row) == len(head) for row in rows[:5])
    assert "no two definite answers contradict each other" in done.stdout
    assert "not run: cbc, partition:4: cbc takes no partition formulation" in done.stdout
    data = json.loads(out.read_text())
    rows_ = list(csv.DictReader(table.open()))
    assert [row["skipped"] for row in rows_[:5]] == [""] * len(data["runs"])
    assert (rows_[5]["solver"], rows_[5]["formulation"]) == ("cbc", "partition:4")
    assert rows_[5]["skipped"] == data["skipped"][0]["reason"] != ""
    assert {(row["model"], row["epsilon"], row["norm"]) for row in rows_} == {
        ("digits.onnx", "0.1", "linf")
    }
    with Image.open(picture) as image:
        assert min(image.size) > 300


@pytest.mark.slow
def test_checks_are_saved_and_answered(tmp_path: Path) -> None:
    checks, out = tmp_path / "checks.json", tmp_path / "out.json"
    done = run("--solvers", "phase", "--save-checks", checks, "--quiet")
    assert (done.exit_code, done.output) == (0, "")
    again = tmp_path / "again.json"
    done = run("--solvers", "phase", "--save-checks", again, "--task", "explain", "--quiet")
    assert (done.exit_code, again.read_text()) == (0, checks.read_text())
    done = run("--solvers", "phase,highs", "--checks", checks, "--json", out)
    assert done.exit_code == 0
    head, *rows = lines(done)
    assert head[2:5] == ["holds", "violated", "unknown"]
    data, size = json.loads(out.read_text()), explained().size
    for run_ in data["runs"]:
        counts = [run_["answers"].count(answer) for answer in ("holds", "violated", "unknown")]
        assert counts == [64 - size, size, 0]
        assert run_["programs"] == len(run_["each"])
    assert [row[2] for row in rows[:2]] == [str(run_["holds"]) for run_ in data["runs"]]
    assert data["checks"] == json.loads(checks.read_text())["checks"]


def test_options_reach_the_comparison(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    (tmp_path / "rows.json").write_text(
        json.dumps([list(range(8 * i, 8 * i + 8)) for i in range(8)])
    )
    done = run(
        *("--solvers", "phase", "--rounds", 3, "--order", "random", "--norm", "l1"),
        *("--features", tmp_path / "rows.json", "--bounds", "interval", "--json", out),
    )
    assert done.exit_code == 0, done.output
    data = json.loads(out.read_text())
    assert (data["rounds"], data["norm"], data["features"]) == (3, "l1", 8)
    assert len(data["runs"][0]["answers"]) == 8


def test_a_disagreement_has_an_exit_code_and_a_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    register(monkeypatch, "liar", all_holds)
    monkeypatch.setattr(Oracle, "attacked", lambda *_: {})
    checks = tmp_path / "checks.json"
    checks.write_text(json.dumps({"schema": 1, "features": 64, "checks": [list(range(64))]}))
    options = ("--checks", checks, "--bounds", "interval", "--disagreements", tmp_path)
    done = run("--solvers", "highs,liar", "--json", tmp_path / "out.json", *options)
    assert done.exit_code == 4
    (written,) = tmp_path.glob("*.lp")
    assert written.name == "disagreement-1.lp"
    assert written.read_text().startswith("Minimize")
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: liar, big_m says that a check on 64 features holds")
    assert line.endswith(f"the program is in {written}")
    data = json.loads((tmp_path / "out.json").read_text())
    assert data["agree"] is False
    (found,) = data["disagreements"]
    assert found["holding"] == {"solver": "liar", "formulation": "big_m"}
    assert found["violated"] == {"solver": "highs", "formulation": "big_m"}
    assert len(found["witness"]) == len(found["free"]) == 64


def test_undecided_and_interrupted_runs_have_exit_codes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    done = run("--solvers", "phase", "--time-limit", 0.0001)
    assert done.exit_code == 5
    assert "No program was listed before the end (time limit)" in done.stderr
    assert "phase, big_m: stopped: time limit" in done.stdout
    table = tmp_path / "out.csv"
    run("--solvers", "phase", "--time-limit", 0.0001, "--csv", table)
    (line,) = csv.DictReader(table.open())
    assert (line["stopped"], line["time_limit"]) == ("time limit", "0.0001")
    assert re.search(r"; \d+ answers? about whole checks (is|are) unknown", done.stdout)
    register(monkeypatch, "stopped", at_call(0, ctrl_c))
    out, picture = tmp_path / "out.json", tmp_path / "out.svg"
    done = run("--solvers", "phase,stopped,highs", "--json", out, "--plot", picture)
    assert done.exit_code == 130
    assert "not run: highs, big_m: interrupted" in done.stdout
    assert [item["stopped"] for item in json.loads(out.read_text())["runs"]] == [
        None,
        "interrupted",
    ]
    assert picture.is_file()


def test_ctrl_c_after_the_runs_leaves_table_and_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Comparison, "plot", stop)
    table, picture = tmp_path / "out.csv", tmp_path / "out.png"
    done = run("--solvers", "phase", "--csv", table, "--plot", picture)
    assert done.exit_code == 130
    assert lines(done)[1][:2] == ["phase", "big_m"]
    assert len(table.read_text().splitlines()) == 2


@pytest.mark.slow
def test_ctrl_c_while_runs_are_held_against_each_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pending = [KeyboardInterrupt]

    def stop(*arguments: Any) -> Any:
        if pending:
            raise pending.pop()
        return contradictions(*arguments)

    monkeypatch.setattr("milp_verix.comparison.compare.contradictions", stop)
    table = tmp_path / "out.csv"
    done = run("--solvers", "phase", "--csv", table)
    assert done.exit_code == 130
    assert lines(done)[1][:2] == ["phase", "big_m"]
    assert len(table.read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--solvers", "baron"], "unknown solver 'baron'"),
        (["--solvers", ""], "solvers must be one name or more, and none empty"),
        (["--solvers", "highs,"], "solvers must be one name or more, and none empty"),
        (["--solvers", "absent"], "nothing to compare: absent, big_m: .*pip install absent"),
        (["--solvers", "highs,highs"], "solvers lists a name twice"),
        (["--formulations", "sos3"], "unknown formulation 'sos3'.* did you mean 'sos1'"),
        (["--formulations", ""], "formulations must be one name or more"),
        (["--solvers", "cbc", "--formulations", "partition"], "nothing to compare: cbc"),
        (["--checks", "none.json"], "cannot read the checks in none.json"),
        (["--checks", MODEL], "holds no checks"),
        (["--checks", "none.json", "--order", "random"], "--checks are answered as they are"),
        (["--order", "best"], "--order is auto, influence"),
        (["--order", "influense"], "--order is .* did you mean 'influence'"),
        (["--plot", "out.txt"], "cannot plot to out.txt"),
        (["--json", "none/out.json"], "cannot write none/out.json"),
        (["--disagreements", "none"], "--disagreements none is no folder"),
        (["--time-limit", 0], "time_limit must be positive"),
    ],
)
def test_what_cannot_be_used_takes_one_line(
    options: list[Any], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(monkeypatch, "absent", honest, reason="pip install absent")
    done = run(*options)
    assert (done.exit_code, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert re.match(f"error: .*{said}", line), line


def test_a_record_is_asked_again(tmp_path: Path) -> None:
    record = tmp_path / "record.json"
    start = [sys.executable, "-m", "milp_verix", "compare", *map(str, GIVEN)]
    options = ["--solvers", "highs,phase", "--most-checks", "2", "--json", str(record), "-q"]
    subprocess.run([*start, *options], check=True)
    data = json.loads(record.read_text())
    assert data["schema"] == 2
    assert data["command"][0] == "compare"
    assert data["machine"]["cores"] >= 1
    assert data["versions"]["highspy"] == version("highspy")
    assert data["options"]["threads"] == 1
    assert data["runs"][0]["parameters"]["presolve"] == "off"
    again = run("--repeat", record, given=())
    assert again.exit_code == 0, again.output
    assert "4 programs in both records: 4 with the same digest, 4 with the same answer" in (
        again.stdout
    )
    data["runs"][0]["each"][0] |= {"digest": "0" * 64, "answer": "violated"}
    record.write_text(json.dumps(data))
    again = run("--repeat", record, given=())
    assert again.exit_code == 4
    named = f"highs, big_m, check 0, rival {data['runs'][0]['each'][0]['rival']}, seed 0"
    assert f"another program: {named}" in again.stdout
    assert f"another answer: {named}: was violated, is holds" in again.stdout
    assert run("--repeat", tmp_path / "none.json", given=()).exit_code == 2
    record.write_text(json.dumps({name: data[name] for name in data if name != "runs"}))
    refused = run("--repeat", record, given=())
    assert (refused.exit_code, "it lacks 'runs'" in refused.output) == (2, True)
    record.write_text('{"kind": "explanation"}')
    refused = run("--repeat", record, given=())
    assert refused.exit_code == 2
    assert "--repeat takes the --json of a compare command" in refused.output
    refused = run("--repeat", FIXTURES / "results" / "0.2" / "comparison.json", given=())
    assert refused.exit_code == 2
    assert "neither that nor the input, bounds, tolerances and limits" in refused.output
