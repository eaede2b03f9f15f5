"""Comparisons: what agrees, what is left out, what it took, and what is lost by Ctrl-C."""

import csv
import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import milp_verix
from milp_verix import Answer, InputError, compare
from milp_verix.base.errors import LicenceLimitError
from milp_verix.comparison.compare import checks_of
from milp_verix.comparison.timed_solver import SolverClock, TimedSolver
from milp_verix.oracle.oracle import Oracle
from milp_verix.results.base import array_hash
from milp_verix.results.comparison import Pair
from milp_verix.results.comparison_files import compared_checks
from milp_verix.solvers import SOLVERS, Session, SolveResult, Targets, open_session
from milp_verix.study.solver_study import _rows, times_of
from milp_verix.views.text_tables import remarks
from tests.support.digits_example import images, network
from tests.support.installed_solvers import each_solver, why_not
from tests.support.lying_solvers import Made, at_call, ctrl_c, honest, no_idea, register
from tests.support.random_networks import cube, dense_network, network_of, random_layers
from tests.support.repository import ROOT
from tests.support.scipy_reference import over

X: Any = images()[15]
FORMULATIONS = ("big_m", "indicator", "sos1", "partition:2")
KINDS = {Answer.HOLDS, Answer.VIOLATED}


@pytest.fixture
def unattacked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no attack decide a check before the solvers."""
    monkeypatch.setattr(Oracle, "attacked", lambda *_: {})


@pytest.mark.slow
def test_all_solvers_and_formulations_give_the_explanation() -> None:
    installed = [name for name in SOLVERS if why_not(name) is None]
    options: dict[str, Any] = {"epsilon": 0.1, "task": "explain", "formulations": FORMULATIONS}
    found = compare(network(), X, solvers=installed, **options)
    assert found.agree
    assert found.complete
    assert found.disagreements == ()
    expected = milp_verix.explain(network(), X, epsilon=0.1)
    for run in found.runs:
        assert run.explanation is not None
        assert run.explanation.explanation == expected.explanation, run.pair
        assert run.size == expected.size == run.count(Answer.VIOLATED)
        assert run.unknown == 0
        assert run.answers[expected.explanation[0]] is Answer.VIOLATED
        assert run.answers[expected.irrelevant[0]] is Answer.HOLDS
    pairs = {(run.pair.solver, run.pair.formulation) for run in found.runs}
    left_out = {(item.pair.solver, item.pair.formulation) for item in found.skipped}
    assert pairs | left_out == {(s, f) for s in installed for f in FORMULATIONS}
    assert not pairs & left_out
    assert {(name, "big_m") for name in installed} <= pairs
    assert ("highs", "indicator") in left_out


@each_solver
def test_every_solver_answers_the_same_checks_as_by_itself(solver: str, tmp_path: Path) -> None:
    model = dense_network(random_layers(np.random.default_rng(3), (6, 8, 6, 3)), tmp_path)
    rng = np.random.default_rng(3)
    x = rng.uniform(size=6)
    checks = [np.flatnonzero(rng.random(6) < share).tolist() for share in np.linspace(0.1, 1, 12)]
    options: dict[str, Any] = {"epsilon": 0.15, "bounds": "interval"}
    found = compare(model, x, solvers=[solver], checks=checks, **options)
    alone = [milp_verix.check(model, x, free, **options).answer for free in checks]
    (run,) = found.runs
    assert list(run.answers) == alone
    assert set(alone) == KINDS
    assert run.checks + len(found.decided) == len(checks)
    assert run.programs == len(run.each) >= run.checks > 0
    assert run.inside.solves == run.solves > 0


@pytest.mark.slow
def test_the_checks_of_an_explanation_decide_it() -> None:
    expected = milp_verix.explain(network(), X, epsilon=0.1)
    found = compare(network(), X, epsilon=0.1, solvers=["highs", "phase"])
    assert found.checks == checks_of(expected)
    for run in found.runs:
        violated = {
            expected.permutation[number]
            for number, answer in enumerate(run.answers)
            if answer is Answer.VIOLATED
        }
        assert violated == set(expected.explanation)
    assert found.agree


@pytest.mark.slow
def test_regressions_norms_and_groups_are_compared(tmp_path: Path) -> None:
    model = dense_network(random_layers(np.random.default_rng(5), (6, 6, 2)), tmp_path)
    x = np.full(6, 0.5)
    for options in ({"delta": 0.4}, {"norm": "l1"}, {"features": [[0, 1], [2, 3], [4, 5]]}):
        found = compare(model, x, epsilon=0.6, solvers=["highs", "cbc", "phase"], **options)
        assert found.agree
        assert len({run.answers for run in found.runs}) == 1
        assert len(found.runs[0].answers) == len(options.get("features", x))


@pytest.mark.slow
def test_time_is_taken_inside_the_sessions() -> None:
    found = compare(network(), X, epsilon=0.1, solvers=["highs", "cbc"], bounds="interval")
    for run in found.runs:
        inside = run.inside
        assert inside.solves == run.solves >= inside.builds > 0
        assert inside.resolves == inside.solves - inside.builds
        assert inside.solve_seconds > 0
        assert inside.build_seconds > 0
        assert inside.build_seconds + inside.solve_seconds < run.seconds


def test_a_stopwatch_tells_first_solves_from_others() -> None:
    network_ = network_of(random_layers(np.random.default_rng(0), (3, 4, 2)))
    program = over(network_, cube(3)).program
    cost, watch, first = np.ones(program.columns), SolverClock(), np.array([0])
    session = open_session(TimedSolver("highs", watch))
    assert session.name == "highs"
    assert session.capabilities == SOLVERS["highs"].capabilities
    plain = open_session("highs")
    for _ in range(2):
        for each in (plain, session):
            each.load(program)
        for bounds in (None, (0.25, 0.5)):
            if bounds is not None:
                for each in (plain, session):
                    each.set_bounds(first, *(np.array([end]) for end in bounds))
            expected = plain.minimise(cost, Targets())
            assert session.minimise(cost, Targets()).bound == pytest.approx(expected.bound)
    inside = watch.time
    assert (inside.builds, inside.solves, inside.resolves) == (2, 4, 2)
    assert min(inside.resolve_seconds, inside.solve_seconds) > 0
    session.close()
    plain.close()


@pytest.mark.slow
def test_what_is_not_installed_is_named_and_the_others_run(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, "absent", honest, reason="pip install absent")
    found = compare(network(), X, epsilon=0.1, solvers=["absent", "phase"])
    assert [run.pair.solver for run in found.runs] == ["phase"]
    (skipped,) = found.skipped
    assert str(skipped) == "absent, big_m: solver 'absent': pip install absent"
    with pytest.raises(InputError, match=r"nothing to compare: absent, big_m.*pip install absent"):
        compare(network(), X, epsilon=0.1, solvers=["absent"])


@pytest.mark.nightly
def test_by_default_all_that_are_installed_run(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, "absent", honest, reason="pip install absent")
    found = compare(network(), X, epsilon=0.1)
    ran = {run.pair.solver for run in found.runs} | {item.pair.solver for item in found.skipped}
    assert {name for name in SOLVERS if why_not(name) is None} <= ran


@pytest.mark.usefixtures("unattacked")
@pytest.mark.slow
def test_an_undecided_feature_is_no_disagreement(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, "shy", at_call(0, no_idea))
    options: dict[str, Any] = {"epsilon": 0.1, "bounds": "interval", "order": "sequential"}
    options |= {"traversal": "sequential", "check_time_limit": 5.0, "task": "explain"}
    found = compare(network(), X, solvers=["shy", "highs"], **options)
    shy, highs = found.runs
    assert shy.unknown == 1
    assert highs.unknown == 0
    assert shy.explanation is not None
    assert highs.explanation is not None
    assert shy.explanation.irrelevant != highs.explanation.irrelevant
    assert found.agree
    assert not found.complete


@pytest.mark.usefixtures("unattacked")
def test_ctrl_c_keeps_what_is_finished_and_the_part_of_the_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    register(monkeypatch, "stopped", at_call(2, ctrl_c))
    checks = [list(range(count)) for count in range(40, 64)]
    options: dict[str, Any] = {"epsilon": 0.1, "checks": checks, "bounds": "interval"}
    found = compare(network(), X, solvers=["phase", "stopped", "highs"], **options)
    assert found.stopped == "interrupted"
    whole, part = found.runs
    assert whole.stopped is None
    assert whole.checks + len(found.decided) == len(checks)
    assert part.stopped == "interrupted"
    assert part.programs == 2 < whole.programs
    assert [one.answer for one in part.each] == [one.answer for one in whole.each[:2]]
    left = {one.check for one in whole.each} - {one.check for one in part.each}
    assert {part.answers[number] for number in left} == {Answer.UNKNOWN}
    assert [str(item) for item in found.skipped] == ["highs, big_m: interrupted"]


def test_ctrl_c_in_an_explanation_and_between_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, "stopped", at_call(1, ctrl_c))
    options: dict[str, Any] = {"epsilon": 0.1, "bounds": "interval", "traversal": "sequential"}
    options["task"] = "explain"
    found = compare(network(), X, solvers=["phase", "stopped", "highs"], **options)
    assert [run.stopped for run in found.runs] == [None, "interrupted"]
    assert found.agree

    def stop(pair: object) -> None:
        if str(pair) == "cbc, big_m":
            raise KeyboardInterrupt

    found = compare(network(), X, solvers=["phase", "cbc"], progress=stop, **options)
    assert [run.pair.solver for run in found.runs] == ["phase"]
    assert found.stopped == "interrupted"
    found = compare(network(), X, solvers=["cbc"], progress=stop, **options)
    assert found.runs == ()
    with pytest.raises(InputError, match="nothing to draw"):
        found.plot()


@pytest.mark.nightly
def test_rounds_take_turns_and_the_median_counts() -> None:
    seen: list[str] = []
    found = compare(
        *(network(), X),
        epsilon=0.1,
        solvers=["phase", "highs"],
        rounds=3,
        progress=lambda pair: seen.append(pair.solver),
    )
    assert seen == ["phase", "highs"] * 3
    assert [run.pair.solver for run in found.runs] == ["phase", "highs"]
    assert found.rounds == 3


def test_a_time_limit_leaves_each_run_its_share() -> None:
    checks = [list(range(60))] * 3
    options: dict[str, Any] = {"epsilon": 0.1, "time_limit": 1e-4}
    for asked in ({"checks": checks}, {"task": "explain"}, {}):
        found = compare(network(), X, solvers=["highs", "phase"], **asked, **options)  # type: ignore[typeddict-item]
        assert [run.stopped for run in found.runs] == ["time limit"] * 2
        assert not found.complete
        assert found.task == "explain" or "No program was listed" in (found.empty or "")


def test_runs_that_ended_early_are_not_said_to_have_got_everything() -> None:
    found = compare(network(), X, epsilon=0.2, most_checks=2, solvers=["highs", "phase"])
    whole, other = found.runs
    assert f"each solver got {whole.programs} programs" in remarks(found)[0]
    less = replace(found, runs=(whole, replace(other, each=other.each[:1])))
    assert f"solvers got 1 to {whole.programs} programs" in remarks(less)[0]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"epsilon": 1e-4}, "by: bounds decided 64 checks."),
        ({"epsilon": 1e-4, "most_checks": 3}, "by: bounds and an attack decided every check."),
        ({"epsilon": 0.2, "exactness": "bounds"}, "exactness='bounds' makes none for 20 checks."),
    ],
)
def test_a_comparison_of_nothing_says_why(options: dict[str, Any], said: str) -> None:
    empty = compare(network(), X, solvers=["highs"], **options).empty
    assert empty is not None
    assert empty.startswith("There is no program to compare solvers")
    assert empty.endswith(said)


def test_results_are_written(tmp_path: Path) -> None:
    found = compare(network(), X, epsilon=0.1, task="explain", solvers=["phase", "highs"])
    data = json.loads(found.to_json(tmp_path / "out.json"))
    assert data == json.loads((tmp_path / "out.json").read_text())
    assert data["agree"] is True
    assert data["features"] == 64
    assert data["checks"] is None
    assert [run["size"] for run in data["runs"]] == [28, 28]
    assert data["runs"][0]["answers"] == [answer.value for answer in found.runs[0].answers]
    lines = list(csv.DictReader(found.to_csv(tmp_path / "out.csv").splitlines()))
    assert [line["solver"] for line in lines] == ["phase", "highs"]
    assert float(lines[0]["seconds"]) == found.runs[0].seconds
    assert int(lines[1]["solves"]) == found.runs[1].solves
    assert found.table().row_count == 2
    html = found._repr_html_()
    assert html.count("<tr>") == 3
    assert "no two definite answers contradict" in html
    assert pickle.loads(pickle.dumps(found)).to_json() == found.to_json()


@pytest.mark.usefixtures("unattacked")
def test_counts_that_a_solver_does_not_tell_are_empty() -> None:
    if (reason := why_not("pulp")) is not None:
        pytest.skip(reason)
    options: dict[str, Any] = {"epsilon": 0.1, "bounds": "interval", "checks": [list(range(40))]}
    found = compare(network(), X, solvers=["pulp", "highs"], **options)
    silent, telling = csv.DictReader(found.to_csv().splitlines())
    assert int(silent["solves"]) > 0
    assert (silent["nodes"], silent["iterations"]) == ("", "")
    assert int(telling["iterations"]) > 0
    assert found.runs[0].nodes is None
    assert silent["input_sha256"] == array_hash(np.asarray(X).reshape(-1)) != ""


@pytest.mark.usefixtures("unattacked")
def test_programs_handed_to_another_solver_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_large(*_: object) -> SolveResult:
        raise LicenceLimitError("too large")

    monkeypatch.setitem(SOLVERS, "licensed", Made("licensed", too_large))
    options: dict[str, Any] = {"epsilon": 0.1, "bounds": "interval", "checks": [list(range(40))]}
    (run,) = compare(network(), X, solvers=["licensed"], **options).runs
    assert {(one.status, one.reason) for one in run.each} == {("not run", "not run: too large")}
    options |= {"solvers": ["licensed", "highs"], "substitutes": True}
    found = compare(network(), X, **options)
    handed, own = csv.DictReader(found.to_csv().splitlines())
    assert (handed["handed_over"], handed["handed_to"]) == (handed["solves"], "highs")
    assert int(handed["solves"]) > 0
    assert (own["handed_over"], own["handed_to"]) == ("0", "")


@pytest.mark.usefixtures("unattacked")
def test_beyond_the_licence_of_gurobi_the_substitute_is_named(tmp_path: Path) -> None:
    if (reason := why_not("gurobi")) is not None:
        pytest.skip(reason)
    model = dense_network(random_layers(np.random.default_rng(3), (2100, 6, 6, 2)), tmp_path)
    options: dict[str, Any] = {"epsilon": 0.05, "bounds": "interval", "solvers": ["gurobi"]}
    options["checks"] = [list(range(2100)), list(range(30))]  # the last one fits
    (run,) = compare(model, np.full(2100, 0.5), **options).runs
    if run.each[0].status != "not run":
        pytest.skip("the licence of Gurobi has no limit of size")
    found = compare(model, np.full(2100, 0.5), substitutes=True, **options)
    each = json.loads(found.to_json())["runs"][0]["each"]
    assert [(one["solver"], one["handed_to"]) for one in each] == [
        ("gurobi", "highs"),
        ("gurobi", None),
    ]
    assert [line["handed_to"] for line in csv.DictReader(found.each_to_csv().splitlines())] == [
        "highs",
        "",
    ]
    (line,) = csv.DictReader(found.to_csv().splitlines())
    assert (line["handed_over"], line["handed_to"]) == ("1", "highs")
    assert next(iter(found.table().columns[0].cells)).plain == "gurobi (highs)"  # type: ignore[union-attr]
    assert any(
        text.startswith("gurobi, big_m: highs solved 1 program: the licence of gurobi does not")
        for text in remarks(found)
    )
    assert found.runs[0].parameters  # those of Gurobi
    rows = _rows(
        {"index": 0, "epsilon": 0.05, "settings": {}, "comparison": compared_checks(found)}
    )
    asked = {one.pair.solver: one.attempted for one in times_of(rows).summary()}
    assert asked == {"gurobi": 1, "gurobi (highs)": 1}  # no time of HiGHS is Gurobi's


@pytest.mark.usefixtures("unattacked")
@pytest.mark.parametrize("error", [ZeroDivisionError("somewhere inside"), SystemExit("inside")])
def test_a_solver_that_raises_has_failed_programs_and_the_comparison_goes_on(
    monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def broken(*_: object) -> SolveResult:
        raise error

    register(monkeypatch, "broken", at_call(1, broken))
    options: dict[str, Any] = {"epsilon": 0.1, "bounds": "interval", "checks": [list(range(40))]}
    found = compare(network(), X, solvers=["broken", "highs"], **options)
    first, second = found.runs
    assert [one.status for one in first.each].count("failed") == 1
    assert "inside" in str(first.each[1].reason)
    assert first.programs == second.programs > 2
    assert second.unknown == 0
    assert found.unequal == ()


@pytest.mark.usefixtures("unattacked")
def test_a_solver_that_raises_leaves_features_of_an_explanation_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def too_large(*_: object) -> SolveResult:
        raise LicenceLimitError("too large")

    def broken(*_: object) -> SolveResult:
        raise ZeroDivisionError("somewhere inside")

    register(monkeypatch, "licensed", too_large)
    register(monkeypatch, "broken", broken)
    options: dict[str, Any] = {"epsilon": 0.1, "task": "explain", "bounds": "interval"}
    options["solvers"] = ["licensed", "broken", "highs"]
    found = compare(network(), X, **options)
    licensed, raising, highs = found.runs
    assert min(licensed.unknown, raising.unknown) > highs.unknown == 0
    said = f"broken, big_m: broken failed: somewhere inside ({raising.unknown} features)"
    assert said in remarks(found)
    register(monkeypatch, "broken", lambda *_: None)
    nothing = compare(network(), X, **options).runs[1]
    assert nothing.unknown == raising.unknown
    assert nothing.explanation is not None
    why = {*nothing.explanation.unknown_reasons.values()}
    assert why == {"broken failed: minimise gave NoneType, not SolveResult"}
    found = compare(network(), X, substitutes=True, **options)
    assert [run.handed_to for run in found.runs] == ["highs", None, None]
    assert found.runs[0].unknown == 0


@pytest.mark.parametrize("error", [OSError("no licence server"), SystemExit("no licence server")])
def test_a_solver_that_does_not_open_is_not_run(
    monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def no_session(self: Made, **_options: object) -> Session:
        raise error

    solver = register(monkeypatch, "closed", no_idea)
    monkeypatch.setattr(Made, "open", no_session)
    found = compare(network(), X, epsilon=0.1, solvers=["closed", "highs"], checks=[[0]])
    assert [run.pair.solver for run in found.runs] == ["highs"]
    assert "does not open: " in str(found.skipped[0])
    assert "no licence server" in str(found.skipped[0])
    named: Any = ["highs", solver]
    with pytest.raises(InputError, match=r"solvers are names, got .* by an entry point"):
        compare(network(), X, epsilon=0.1, solvers=named)


def test_beta_is_left_out_where_numbers_are_whole() -> None:
    inputs = milp_verix.Inputs.from_file(ROOT / "examples" / "loan.json")
    person = json.loads((ROOT / "examples" / "applicant.json").read_text())
    model = ROOT / "examples" / "loan.onnx"
    question: dict[str, Any] = {"inputs": inputs, "epsilon": 0.5}
    (left,) = compare(model, person, solvers=["beta", "split"], **question).skipped
    assert "cannot decide whole numbers" in left.reason
    with pytest.raises(InputError) as refused:
        milp_verix.check(model, person, [0], solver="beta", **question)
    assert str(refused.value) == left.reason


@pytest.mark.usefixtures("unattacked")
def test_programs_that_differ_fail_the_comparison() -> None:
    options: dict[str, Any] = {"epsilon": 0.1, "bounds": "interval", "checks": [list(range(40))]}
    found = compare(network(), X, solvers=["highs", "phase"], **options)
    assert found.agree
    digests = [[one.digest for one in run.each] for run in found.runs]
    assert digests[0] == digests[1]
    assert len({*digests[0]}) == found.programs
    other = replace(found.runs[1].each[0], digest="0" * 64)
    changed = replace(found.runs[1], each=(other, *found.runs[1].each[1:]))
    unequal = replace(found, runs=(found.runs[0], changed))
    assert not unequal.agree
    assert "got two programs for check 0, rival" in unequal.unequal[0]
    assert compared_checks(unequal)["disagreements"] == unequal.unequal  # as studies keep it
    assert repr(unequal).endswith("1 disagreement)")
    page = milp_verix.write_report(unequal)
    assert "one question: 1 contradiction." in page
    assert "got two programs for check 0, rival" in page
    (title,) = {text.get_text() for text in unequal.plot().texts} & {
        "1 disagreement between solvers"
    }
    assert title


@pytest.mark.parametrize(
    ("solvers", "tangents"), [(("phase", "scip", "highs"), True), (("scip", "gurobi"), False)]
)
def test_over_an_l2_ball_all_get_the_program_that_all_take(
    solvers: tuple[str, ...], tangents: bool
) -> None:
    for name in solvers:
        if (reason := why_not(name)) is not None:
            pytest.skip(reason)
    options: dict[str, Any] = {"epsilon": 0.9, "norm": "l2", "most_checks": 1}
    found = compare(network(), X, solvers=solvers, **options)
    assert found.options["tangents"] is tangents
    assert (found.unequal, found.agree) == ((), True)
    assert all(one.digest for run in found.runs for one in run.each)


@pytest.mark.usefixtures("unattacked")
def test_seeds_permute_programs_and_are_recorded() -> None:
    options: dict[str, Any] = {"epsilon": 0.1, "bounds": "interval", "checks": [list(range(40))]}
    found = compare(network(), X, solvers=["highs", "gurobi", "cbc"], seeds=3, **options)
    for run in found.runs:
        by_seed = [[one for one in run.each if one.seed == seed] for seed in range(3)]
        assert [len(some) for some in by_seed] == [found.programs] * 3
        for some in zip(*by_seed, strict=True):
            assert len({one.digest for one in some}) == 1
            assert len({one.answer for one in some}) == 1
    assert found.agree
    assert found.seeds == 3
    first = found.runs[0]
    timed = tuple(replace(one, solver_seconds=1.0 + one.seed) for one in first.each[:-1])
    few = first.programs
    (line,) = (
        text
        for text in remarks(replace(found, runs=(replace(first, each=timed),)))
        if "seed" in text
    )
    assert line.endswith(
        f"over 2 seeds the solver took {few}.00 to {2 * few}.00 s, median {1.5 * few:.2f} s"
    )


def test_a_warm_program_is_built_once_and_changed() -> None:
    options: dict[str, Any] = {"epsilon": 0.2, "most_checks": 3, "warm": "in_place"}
    found = compare(network(), X, solvers=["highs", "phase", "cbc"], **options)
    assert [run.pair.solver for run in found.runs] == ["highs", "phase"]
    for run in found.runs:
        assert [one.builds for one in run.each] == [1, *[0] * (run.programs - 1)]
        assert run.each[1].changes > 64  # bounds of inputs, besides the cost
    assert found.agree
    assert "warm='in_place' is nothing that cbc can do" in str(found.skipped[0])


def test_pyomo_tells_the_version_of_the_solver() -> None:
    if (reason := why_not("pyomo")) is not None:
        pytest.skip(reason)
    session = open_session("pyomo")
    assert session.version.split(" (Pyomo ")[0] == open_session("highs").version
    session.close()


def test_a_picture_clips_no_label_and_marks_runs_at_the_limit() -> None:
    options: dict[str, Any] = {"epsilon": 0.1, "checks": [list(range(60))] * 3, "time_limit": 1e-4}
    found = compare(network(), X, solvers=["highs"], **options)
    (run,) = found.runs
    wide = replace(run, pair=Pair("pyomo:gurobi_persistent_v2?MIPFocus=1", "PARTITION:WWWWWWWW"))
    figure = replace(found, runs=(wide, run)).plot()
    figure.draw_without_rendering()
    (axes,) = figure.axes
    texts = [*figure.texts, *axes.get_yticklabels()]
    for box in (text.get_window_extent() for text in texts):
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.width
    assert sum("stopped: time limit" in text.get_text() for text in figure.texts) == 2
    (marks,) = (line for line in axes.lines if line.get_marker() == ">")
    inside = run.inside
    assert list(marks.get_xdata()) == [inside.build_seconds + inside.solver_seconds] * 2


@pytest.mark.nightly
def test_the_bars_are_as_long_as_the_seconds() -> None:
    found = compare(network(), X, epsilon=0.1, solvers=["phase", "highs", "cbc"])
    (axes,) = found.plot().axes
    assert len(axes.containers) == 2
    for row, run in enumerate(found.runs):
        parts = [container[row].get_width() for container in axes.containers]  # type: ignore[index]
        assert parts == [run.inside.build_seconds, run.inside.solver_seconds]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"solvers": ["baron"]}, "unknown solver 'baron'"),
        ({"solvers": []}, "solvers must be one name or more"),
        ({"solvers": [""]}, "solvers must be one name or more, and none empty, got "),
        ({"solvers": ["highs", ""]}, "none empty"),
        ({"solvers": ["highs", "highs"]}, "solvers lists a name twice: highs, highs"),
        ({"solvers": ["auto"]}, "auto is a choice between them"),
        ({"formulations": ["sos3"]}, "unknown formulation 'sos3'"),
        ({"formulations": []}, "formulations must be one name or more"),
        ({"solvers": ["cbc"], "formulations": ["partition"]}, "nothing to compare: cbc, partition"),
        ({"checks": []}, "the list of checks is empty"),
        ({"checks": [[64]]}, "feature 64 is out of range"),
        ({"checks": [[0, 0]]}, "lists a feature twice"),
        ({"checks": "all"}, "checks are a list of lists"),
        ({"checks": [0.5, 1]}, "checks lists features by their integer indices"),
        ({"task": "all"}, "unknown task 'all'; choose one of check, explain, minimum"),
        ({"checks": [[0]], "task": "explain"}, "leave checks or task out"),
        ({"checks": [[0]], "time_limit": 0}, "time_limit must be positive"),
        ({"checks": [[0]], "order": "random"}, "leave order out"),
        ({"rounds": 0}, "rounds must be an integer of at least 1"),
        ({"rounds": 10**30}, "rounds must be at most 100"),
        ({"epsilon": -1}, "epsilon must be finite and not negative"),
    ],
)
def test_what_does_not_fit_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        compare(network(), X, **{"epsilon": 0.1, **options})


def test_one_name_is_a_list_of_one() -> None:
    given = {"epsilon": 0.1, "checks": [[0]]}
    found = compare(network(), X, solvers="highs", formulations="big_m", **given)  # type: ignore[arg-type]
    assert [str(run.pair) for run in found.runs] == ["highs, big_m"]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"epsilon": 0.1, "solver": "highs"},
        {"epsilon": 0.1, "colour": 1},
    ],
)
def test_options_that_there_are_not(options: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        compare(network(), X, **options)


def test_checks_are_lists_or_masks_as_free_features_are() -> None:
    model, mask = network(), np.zeros((8, 8), dtype=bool)
    mask[0, 3] = mask[2, 1] = True
    options = {"epsilon": 0.01, "solvers": "highs"}
    found = compare(model, images()[0], checks=[mask, mask.reshape(-1).tolist(), [3]], **options)
    assert found.checks == ((3, 17), (3, 17), (3,))
