"""Studies of solvers: what the numbers mean, what resumes, and what a reader is told."""

import csv
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import milp_verix
from milp_verix import InputError, explain_many, read_solver_study, write_report
from milp_verix.base.clock import NO_LIMIT
from milp_verix.cli.app import app
from milp_verix.comparison.compare import checks_of
from milp_verix.comparison.prepared import prepare
from milp_verix.problem.search import Search
from milp_verix.results.comparison import Pair
from milp_verix.results.solver_times import SHIFT, SolverTimes
from milp_verix.study.solver_study import COLUMNS, times_of
from milp_verix.views.text_tables import STUDY_HEADS, meaning, study_rows
from tests.support.digits_example import images, network

INF = np.inf
SOLVERS = ["highs", "phase"]


def _times(seconds: Any, limit: float = 10.0) -> SolverTimes:
    table = np.array(seconds, dtype=float)
    pairs = tuple(Pair(f"s{row}", "big_m") for row in range(len(table)))
    names = tuple(map(str, range(table.shape[1])))
    return SolverTimes(pairs, names, table, np.ones(table.shape, dtype=bool), limit)


def test_summaries_are_those_of_the_definitions() -> None:
    times = _times([[1.0, 4.0, INF], [2.0, 2.0, 8.0]])
    best, other = times.summary()
    assert (best.pair.solver, best.solved, best.fastest) == ("s1", 3, 2)
    assert (other.pair.solver, other.solved, other.fastest) == ("s0", 2, 1)
    assert best.par2 == pytest.approx((2 + 2 + 8) / 3)
    assert other.par2 == pytest.approx((1 + 4 + 20) / 3)
    product = (1 + SHIFT) * (4 + SHIFT) * (10 + SHIFT)
    assert other.shifted_mean == pytest.approx(product ** (1 / 3) - SHIFT)
    assert times.ratios().tolist() == [[1.0, 2.0, INF], [2.0, 1.0, 1.0]]


def test_a_difference_is_one_where_the_interval_excludes_one() -> None:
    rng = np.random.default_rng(0)
    base = rng.uniform(1.0, 5.0, 60)
    times = _times([base, 1.001 * base[::-1], 2 * base + 1], limit=100.0)
    first, same, slower = times.summary()
    assert (first.ratio, first.p, first.differs) == (1.0, 1.0, False)
    assert not same.differs
    assert same.ratio_low < 1.0 < same.ratio_high
    assert slower.pair.solver == "s2"
    assert slower.differs
    assert slower.ratio == pytest.approx(2.0)
    assert slower.ratio_low == pytest.approx(2.0)
    assert slower.p < 1e-6
    # rivals of one check are drawn together: the same times twice prove no more
    names = tuple(f"check {k}, rival {r}" for k in range(60) for r in (1, 2))
    twice = _times(np.repeat(times.seconds, 2, axis=1), limit=100.0)
    for again, one in zip(replace(twice, instances=names).summary(), times.summary(), strict=True):
        assert again.ratio_low == pytest.approx(one.ratio_low, rel=0.02)


def test_a_shift_weighs_small_times() -> None:
    times = _times([[0.001, 0.001], [0.002, 0.002]])
    assert times.summary()[1].ratio == pytest.approx(1.002 / 1.001)
    assert replace(times, shift=1e-6).summary()[1].ratio == pytest.approx(2, rel=1e-2)


def test_the_mean_of_whole_questions_stands_beside_that_of_the_clock() -> None:
    row = {"solver": "a", "formulation": "big_m", "check_time_limit": 9.0, "status": "x"}
    rows = [
        {**row, "instance": "one", "seconds": 3.0, "solver_seconds": 1.0, "answer": "holds"},
        {**row, "instance": "two", "seconds": 9.5, "solver_seconds": 9.1, "answer": "unknown"},
    ]
    times = times_of(rows, "solver", shift=0.5)
    (found,) = times.summary()
    assert found.shifted_mean == pytest.approx((1.5 * 9.5) ** 0.5 - 0.5)
    assert found.whole_mean == pytest.approx((3.5 * 9.5) ** 0.5 - 0.5)  # unanswered: the limit
    cells = dict(zip(STUDY_HEADS, study_rows(times)[0], strict=True))
    assert (cells["shifted mean, s"], cells["all, s"]) == ("3.275", "5.266")
    assert "Times are the solver's own, of its calls where it has no clock; “all” is" in meaning(
        times
    )
    del rows[0]["solver_seconds"], rows[1]["solver_seconds"]  # as journals of version 0.2
    assert "Times are wall-clock times" in meaning(times_of(rows, "solver"))
    assert "add 0.5 s to each time" in meaning(times)


def test_of_several_seeds_the_median_counts() -> None:
    row = {"solver": "a", "formulation": "big_m", "check_time_limit": 9.0, "instance": "one"}
    found = [(1.0, "holds"), (4.0, "violated"), (9.0, "unknown")]
    rows = [
        {**row, "seconds": s, "solver_seconds": s, "answer": a, "status": "x"} for s, a in found
    ]
    assert times_of(rows, "solver").seconds.tolist() == [[4.0]]
    assert times_of(rows[1:], "solver").seconds.tolist() == [[INF]]


@pytest.mark.parametrize("seed", range(20))
def test_profiles_are_the_shares_of_dolan_and_more(seed: int) -> None:
    rng = np.random.default_rng(seed)
    seconds = np.where(rng.random((4, 30)) < 0.2, INF, rng.uniform(0.01, 9, (4, 30)))
    ratios = _times(seconds).ratios()
    for tau in (1.0, 1.5, 3.0, 100.0):
        for row in range(4):
            within = 0
            for place in range(30):
                best = min(seconds[:, place])
                within += bool(best < INF and seconds[row, place] <= tau * best * (1 + 1e-12))
            assert np.count_nonzero(ratios[row] <= tau * (1 + 1e-12)) == within


def test_a_check_that_nobody_answers_is_nobodys_best() -> None:
    times = _times([[INF, 1.0], [INF, 2.0]])
    assert [one.fastest for one in times.summary()] == [1, 0]
    assert times.ratios()[:, 0].tolist() == [INF, INF]


def test_unknown_answers_are_censored() -> None:
    row = {"solver": "a", "formulation": "big_m", "check_time_limit": 3.0, "status": "optimal"}
    rows = [
        {**row, "instance": "one", "answer": "holds", "seconds": 1.0},
        {**row, "instance": "two", "answer": "unknown", "seconds": 3.1},
        {**row, "instance": "one", "answer": "violated", "seconds": 2.0, "solver": "b"},
    ]
    times = times_of(rows)
    assert times.limit == 3.0
    assert times.seconds.tolist() == [[1.0, INF], [2.0, INF]]
    assert times.attempted.tolist() == [[True, True], [True, False]]
    assert meaning(times).startswith(
        "2 programs with a limit of 3 s each. Times are wall-clock times; “all” is the wall-clock"
    )
    unlimited = times_of([{**row, "check_time_limit": None} for row in rows])
    assert meaning(unlimited).startswith("2 programs without a limit, for which the longest time")


def test_a_study_of_nothing_says_so_alone(tmp_path: Path) -> None:
    start = ["compare", "examples/digits.onnx", "examples/digits.npz:images", "--epsilon", "1e-4"]
    journal = str(tmp_path / "study.jsonl")
    options = ["--solvers", "highs", "--indices", "15", "--journal", journal]
    done = CliRunner().invoke(app, [*start, *options])
    assert done.exit_code == 5
    assert done.stdout.startswith("1 of 1 task, ")
    assert len(done.stdout.splitlines()) == 1


def test_what_is_not_asked_does_not_count() -> None:
    row = {"formulation": "big_m", "check_time_limit": 9.0, "status": "optimal", "answer": "holds"}
    rows = [
        {**row, "instance": f"check {k}", "seconds": seconds, "solver": solver}
        for solver, times in (("a", (1.0, 3.0, 7.0)), ("b", (3.0, 7.0)), ("c", ()))
        for k, seconds in enumerate(times)
    ]
    rows.append({**rows[0], "solver": "c", "status": "not run", "answer": "unknown"})
    best, other, none = times_of(rows).summary()
    assert [one.attempted for one in (best, other, none)] == [3, 2, 0]
    assert best.shifted_mean == pytest.approx(64 ** (1 / 3) - 1)  # (2 · 4 · 8)^(1/3) − 1
    assert other.shifted_mean == pytest.approx(32**0.5 - 1)  # 4 and 8
    assert other.ratio == pytest.approx(2.0)  # 4/2 and 8/4: not to the mean of all three
    assert other.ratio_low <= 2.0 <= other.ratio_high
    assert np.isnan([none.shifted_mean, none.par10, none.ratio, none.ratio_low, none.p]).all()
    assert study_rows(times_of(rows))[2][5:] == ("–",) * 6
    assert not none.differs


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("study") / "study.jsonl"
    options: dict[str, Any] = {"solvers": SOLVERS, "formulations": ["big_m", "sos1", "partition:2"]}
    options |= {"most_checks": 2, "check_time_limit": 60.0, "norm": "linf"}
    explain_many(
        *(network(), np.array(images()[14:16])),
        epsilon=0.1,
        task="compare",
        journal=path,
        **options,
    )
    return path


@pytest.mark.slow
def test_a_study_asks_every_pair_the_same_checks(journal: Path) -> None:
    study = read_solver_study(journal)
    unfit = np.array([pair.formulation == "sos1" for pair in study.times.pairs])
    assert {(p.solver, p.formulation) for p in study.times.pairs} == {
        (solver, formulation)
        for solver in SOLVERS
        for formulation in ("big_m", "partition:2", "sos1")
    }
    assert (study.times.attempted == ~unfit[:, None]).all()
    assert (np.isfinite(study.times.seconds) == ~unfit[:, None]).all()
    assert study.disagreements == ()
    assert len(study.skipped) == 2
    answers: dict[str, set[str]] = {}
    for row in study.rows:
        assert (row["solves"] > 0) == (row["formulation"] != "sos1")
        if row["solves"]:
            answers.setdefault(row["instance"], set()).add(row["answer"])
    assert len(answers) == len(study.times.instances) == 4
    assert all(len(found) == 1 for found in answers.values())
    frame = study.frame()
    assert tuple(frame.columns) == COLUMNS
    lines = list(csv.DictReader(study.to_csv().splitlines()))
    assert len(lines) == len(frame) == 24
    assert all(line["digest"] for line in lines)
    assert {line["status"] for line in lines[:8]} <= {"optimal", "target"}
    summed = list(csv.DictReader(study.summary_to_csv().splitlines()))
    assert [int(line["solved"]) for line in summed] == [4] * 4 + [0] * 2
    assert study.table().row_count == 6


@pytest.mark.slow
def test_a_study_goes_on_where_it_was(journal: Path, tmp_path: Path) -> None:
    begun = tmp_path / "study.jsonl"
    begun.write_text(journal.read_text().splitlines()[0] + "\n")
    options: dict[str, Any] = {"solvers": SOLVERS, "formulations": ["big_m", "sos1", "partition:2"]}
    options |= {"most_checks": 2, "norm": "linf", "task": "compare", "journal": begun}
    xs = np.array(images()[14:16])
    tally = explain_many(network(), xs, epsilon=0.1, check_time_limit=60.0, **options)
    assert (tally.known, tally.done) == (1, 2)
    # within another limit a solver may answer something else
    again = explain_many(network(), xs, epsilon=0.1, check_time_limit=50.0, **options)
    assert (again.known, again.done) == (0, 2)


@pytest.mark.slow
def test_hard_checks_are_spread_over_those_that_bounds_and_attacks_leave_open() -> None:
    problem = milp_verix.Problem(network(), images()[15], epsilon=0.2)
    checks = checks_of(problem.explain())
    every = prepare(problem, checks, None, Search(), NO_LIMIT)
    found = milp_verix.compare(network(), images()[15], epsilon=0.2, solvers=["highs"])
    assert found.checks == checks
    assert {record.check for record in found.runs[0].each} == {*every.claims}
    assert {one.check for one in found.decided} == {*range(len(checks))} - {*every.claims}
    some = prepare(problem, checks, 3, Search(), NO_LIMIT).checks
    assert len(some) == 3 < len(every.claims)
    assert {*some} <= {checks[number] for number in every.claims}
    assert [len(free) for free in some] == sorted(len(free) for free in some)


@pytest.mark.slow
def test_the_picture_and_the_report(journal: Path, tmp_path: Path) -> None:
    study = read_solver_study(journal)
    figure = study.plot(tmp_path / "study.png")
    profiles, cactus, scatter = figure.axes
    assert (tmp_path / "study.png").stat().st_size > 10_000
    assert len(cactus.lines) == 4 + 1
    for line in cactus.lines[:4]:
        assert len(line.get_xdata()) == 4
    assert profiles.get_ylim()[0] == 0
    best = {f"{one.pair}, s" for one in study.summary()[:2]}
    assert {scatter.get_xlabel(), scatter.get_ylabel()} == best
    for source in (journal, study):
        page = write_report(source)
        assert "Performance profiles" in page or "performance profiles" in page
        assert "PAR10" in page
        assert "takes no special ordered sets" in page


def test_a_study_without_answers_has_no_picture() -> None:
    from milp_verix.views.plot import plot_solver_study

    with pytest.raises(InputError, match="no check has an answer"):
        plot_solver_study(_times([[INF, INF]]))


@pytest.mark.slow
def test_contradictions_reach_the_reader(journal: Path, tmp_path: Path) -> None:
    record = json.loads(journal.read_text().splitlines()[0])
    record["comparison"]["disagreements"] = ["a says yes, b says no"]
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_text(json.dumps(record) + "\n")
    assert read_solver_study(wrong).disagreements == ("a says yes, b says no",)
    assert "Contradiction: a says yes, b says no" in write_report(wrong)


@pytest.mark.slow
def test_the_command_compares_over_many_inputs(tmp_path: Path) -> None:
    start = ["compare", "examples/digits.onnx", "examples/digits.npz:images", "--epsilon", "0.1"]
    start += ["--solvers", "phase,highs", "--most-checks", "1", "--indices", "15"]
    files = {name: tmp_path / name for name in ("study.jsonl", "each.csv", "sum.csv")}
    start += ["--journal", str(files["study.jsonl"]), "--each", str(files["each.csv"])]
    asked = [*start, "--csv", str(files["sum.csv"]), "--radii", "0.05", "--shift", "0.1"]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    assert "means add 0.1 s to each time" in done.output
    means = [float(line["shifted_mean"]) for line in csv.DictReader(files["sum.csv"].open())]
    found = read_solver_study(files["study.jsonl"], shift=0.1).summary()
    assert means == [one.shifted_mean for one in found]
    page = tmp_path / "page.html"
    order = ["report", str(files["study.jsonl"]), "-o", str(page), "--shift", "0.02"]
    assert CliRunner().invoke(app, order).exit_code == 0
    assert "means add 0.02 s to each time" in page.read_text()
    assert "no two definite answers contradict" in done.output
    assert "…" not in done.stdout
    lines = list(csv.DictReader(files["each.csv"].read_text().splitlines()))
    assert {line["epsilon"] for line in lines} == {"0.1", "0.05"}
    assert all(line["relaxation"] for line in lines if line["solves"] != "0")
    for line in lines:
        assert json.loads(line["machine"])["cores"] >= 1
        assert json.loads(line["versions"])["highspy"]
        assert json.loads(line["options"])["bounds"] == "auto"
        assert (json.loads(line["parameters"]) != {}) == (line["solver"] == "highs")
        assert json.loads(line["command"]) == sys.argv[1:]
    assert len(files["sum.csv"].read_text().splitlines()) == 3
    for more, said in (
        (["--order", "margin"], "leave these out"),
        (["--json", str(tmp_path / "x.json")], "leave --json"),
    ):
        refused = CliRunner().invoke(app, [*start, *more])
        assert refused.exit_code == 2
        assert said in refused.output
    for left in (start[:-4], [*start[:-6], "--shift", "2"]):
        refused = CliRunner().invoke(app, left)
        assert refused.exit_code == 2
        assert "give --journal" in refused.output


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"task": ["compare", "explain"]}, "has the task 'compare' alone"),
        ({"solvers": ["baron"]}, "unknown solver 'baron'"),
        ({"most_checks": 0}, "most_checks must be an integer of at least 1"),
    ],
)
def test_wrong_studies_are_refused(options: dict[str, Any], said: str, tmp_path: Path) -> None:
    given = {"task": "compare", "journal": tmp_path / "s.jsonl", "epsilon": 0.1, **options}
    with pytest.raises(InputError, match=said):
        explain_many(network(), np.array(images()[15:16]), **given)


def test_a_journal_of_explanations_is_no_study_of_solvers(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    explain_many(network(), np.array(images()[15:16]), epsilon=0.01, journal=path)
    with pytest.raises(InputError, match="holds no comparison of solvers"):
        read_solver_study(path)
