import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import milp_verix
from milp_verix import (
    ContrastiveExplanation,
    Explanation,
    InputError,
    SolverUnavailableError,
    Tally,
    explain_many,
    read_result,
)
from milp_verix.study import study_run as parts
from tests.support.digits_example import MODEL, explained, images, network
from tests.support.studies import comparable, lines


def study(path: Path, inputs: Any = None, **options: Any) -> Tally:
    given = images()[:3] if inputs is None else inputs
    return explain_many(network(), given, journal=path, **{"epsilon": 0.1, **options})


@pytest.mark.slow
def test_records_are_what_the_single_functions_say(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    kinds = ["explain", "minimum", "contrastive"]
    seen: list[Tally] = []
    tally = study(path, images(), indices=[15], task=kinds, progress=seen.append)
    assert (tally.total, tally.done, tally.complete, tally.stopped) == (3, 3, True, None)
    assert [one.ended for one in seen] == [0, 1, 2, 3, 3]
    abductive, least, contrast = lines(path)
    expected = explained(15)
    assert abductive["explanation"] == list(expected.explanation)
    assert abductive["prediction"] == expected.prediction
    assert abductive["unknown"] == []
    assert abductive["lower_bound"] is None
    assert least["size"] == least["lower_bound"] <= abductive["size"]
    changed = milp_verix.contrastive(network(), images()[15], epsilon=0.1)
    assert contrast["explanation"] == (changed.contrast and list(changed.contrast))
    assert contrast["robust"] == changed.robust
    for record, kind in zip((abductive, least, contrast), kinds, strict=True):
        assert (record["task"], record["index"], record["epsilon"]) == (kind, 15, 0.1)
        assert record["settings"]["norm"] == "linf"
        assert record["seconds"] > 0


def test_running_again_skips_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "study.jsonl"
    study(path, epsilon=[0.01, 0.02], indices="0:2")
    before = path.read_bytes()
    monkeypatch.setattr(parts, "_refuse_bad_settings", lambda *_: None)
    monkeypatch.setattr("milp_verix.study.workers.run_task", None)  # nothing may be computed
    tally = study(path, epsilon=[0.01, 0.02], indices="0:2")
    assert (tally.known, tally.done, tally.ended) == (4, 4, 4)
    assert path.read_bytes() == before
    monkeypatch.undo()
    tally = study(path, epsilon=[0.01, 0.02, 0.03])
    assert (tally.known, tally.done) == (4, 9)
    assert path.read_bytes().startswith(before)
    assert len(lines(path)) == 9


def test_a_failing_input_is_a_record_and_the_others_go_on(tmp_path: Path) -> None:
    given = images()[:3].copy()
    given[1].flat[0] = np.nan
    tally = study(tmp_path / "study.jsonl", given, epsilon=0.01)
    assert (tally.done, tally.failed) == (2, 1)
    _, bad, good = lines(tmp_path / "study.jsonl")
    assert (bad["index"], bad["status"], bad["explanation"]) == (1, "failed", None)
    assert "finite" in bad["reason"] or "NaN" in bad["reason"]
    assert good["status"] == "done"
    given[1] = images()[1]
    again = study(tmp_path / "study.jsonl", given, epsilon=0.01)
    assert (again.known, again.done) == (2, 3)


def test_an_unforeseen_error_of_one_task_is_a_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("of all\nthings")

    monkeypatch.setattr(parts, "_refuse_bad_settings", lambda *_: None)
    monkeypatch.setitem(milp_verix.study.tasks.FUNCTIONS, "explain", broken)
    monkeypatch.setattr(
        "milp_verix.study.tasks._arguments_of", lambda _: {"epsilon": None, "norm": "linf"}
    )
    tally = study(tmp_path / "study.jsonl")
    assert tally.failed == 3
    assert lines(tmp_path / "study.jsonl")[0]["reason"] == "ZeroDivisionError: of all things"


def test_undecided_tasks_are_asked_again_by_choice_alone(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    first = study(path, time_limit=1e-9)
    assert first.undecided == 3
    records = lines(path)
    assert records[0]["unknown"] == list(range(64))
    assert records[0]["reason"] == "time limit"
    second = study(path)
    assert (second.known, second.undecided) == (3, 3)
    third = study(path, retry=["undecided"])
    assert (third.known, third.done) == (0, 3)
    assert len(lines(path)) == 6
    fourth = study(path, retry="undecided")
    assert (fourth.known, fourth.done) == (3, 3)


def test_a_minimum_within_its_gap_is_done_and_one_without_a_proof_is_not(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    inputs = images()[[15]]
    assert study(path, inputs, task="minimum", gap=0.9).done == 1
    assert study(path, inputs, task="minimum", time_limit=1e-9).undecided == 1


def test_whole_results_can_be_read_again(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    study(path, images()[[15]], task=["explain", "contrastive"])
    record, other = lines(path)
    key = record["key"]
    assert record["result"] == f"study.results/{key[:2]}/{key}.json.gz"
    stored = Explanation.from_json(tmp_path / record["result"])
    assert stored.explanation == explained(15).explanation
    assert stored.replay(network()) == ()
    contrast = read_result(path, other)
    assert isinstance(contrast, ContrastiveExplanation)
    assert contrast.contrast == tuple(other["explanation"])
    damaged = tmp_path / "damaged.json.gz"
    whole = (tmp_path / record["result"]).read_bytes()
    for data in (whole[:-20], b"no gzip", whole[:30] + b"xxxx" + whole[34:]):
        damaged.write_bytes(data)
        with pytest.raises(InputError, match="cannot read"):
            Explanation.from_json(damaged)


def test_a_record_says_where_its_result_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()
    path = tmp_path / "a" / "journals"  # a folder
    given = {"inputs": images()[[15]], "epsilon": 0.01}
    monkeypatch.chdir(tmp_path)
    study(Path("a", "journals"), results=Path("b"), **given)
    study(path, **{**given, "epsilon": 0.02})
    study(path, **{**given, "epsilon": 0.03}, results=False)
    monkeypatch.chdir(tmp_path.parent)
    records = [lines(file)[0] for file in path.iterdir()]
    found = {one["epsilon"]: one["result"] for one in records}
    assert found[0.01].startswith("../b/")
    assert found[0.02].startswith("journals.results/")
    assert found[0.03] is None
    with pytest.raises(InputError, match=r"outside its folder; .* results=FOLDER"):
        read_result(path, next(one for one in records if one["epsilon"] == 0.01))
    for record in records:
        elsewhere = tmp_path / "b" if record["epsilon"] == 0.01 else None
        result = read_result(path, record, results=elsewhere)
        assert (result is None) == (record["epsilon"] == 0.03)
        assert result is None or result.epsilon == record["epsilon"]
    (tmp_path / "a" / found[0.02]).unlink()
    with pytest.raises(InputError, match="cannot read"):
        read_result(path, next(one for one in records if one["epsilon"] == 0.02))


def test_a_result_that_cannot_be_written_leaves_its_task_open(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    study(path, results=tmp_path / "whole")
    key = lines(path)[-1]["key"]
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / key[:2]).touch()  # where a folder should be
    other = tmp_path / "other.jsonl"
    with pytest.raises(InputError, match="cannot write"):
        study(other, results=tmp_path / "results")
    assert key not in {one["key"] for one in lines(other)}
    (tmp_path / "results" / key[:2]).unlink()
    assert study(other, results=tmp_path / "results").complete


def test_ctrl_c_ends_with_what_is_there_and_leaves_the_running_task_open(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    whole = tmp_path / "whole.jsonl"
    given = {"epsilon": [0.02, 0.05], "inputs": images()[:10]}
    timers: list[threading.Timer] = []

    def interrupt(tally: Tally) -> None:
        if tally.ended == 5 and not timers:
            timers.append(threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)))
            timers[0].start()

    tally = study(path, progress=interrupt, **given)
    assert tally.stopped == "interrupted"
    assert 5 <= tally.ended == len(lines(path)) < tally.total
    assert tally.undecided == 0
    study(path, **given)
    study(whole, **given)
    assert comparable(lines(path)) == comparable(lines(whole))


def test_pairs_of_a_grid_that_do_not_fit_are_left_out(tmp_path: Path) -> None:
    grid = {"solver": ["cbc", "phase"], "formulation": ["big_m", "partition:2"]}
    with pytest.warns(UserWarning, match=r"left out.*: cbc, partition:2: cbc takes no partition"):
        study(tmp_path / "out.jsonl", grid=grid, indices=[0])
    settings = [line["settings"] for line in lines(tmp_path / "out.jsonl")]
    pairs = [(setting["solver"], setting["formulation"]) for setting in settings]
    assert pairs == [("cbc", "big_m"), ("phase", "big_m"), ("phase", "partition:2")]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"grid": {"solver": ["cbc"], "formulation": ["partition"]}}, "no pair of the grid fits"),
        ({"grid": {"solver": ["cbc", "higs"], "formulation": ["big_m"]}}, "unknown solver"),
        ({"order": "influnce"}, "unknown order 'influnce'"),
        ({"grid": {"order": ["influence", "adaptve"]}}, "unknown order 'adaptve'"),
        ({"grid": {"epsilon": [0.2]}}, "'epsilon' is in the grid, and given beside it"),
        ({"bounds": "crwn"}, "unknown bounds"),
        ({"solver": "higs"}, "unknown solver"),
        ({"norm": "l3"}, "norm"),
        ({"epsilon": -1}, "epsilon"),
        ({"epsilon": [0.1, "a"]}, "epsilon"),
        ({"time_limit": -1}, "time_limit must be positive"),
        ({"domain": (1, 0)}, "domain"),
        ({"task": "minimal"}, "unknown task"),
        ({"gap": 0.1}, "can take no 'gap'"),
        ({"retry": ["done"]}, "unknown retry"),
        ({"columns": [1]}, "columns must be a list of texts"),
        ({"columns": 1}, "columns must be a list of texts"),
        ({"workers": 0}, "workers"),
        ({"indices": [5]}, r"inputs 0\.\.2, got \[5\]"),
        ({"indices": [1, 1]}, "distinct"),
        ({"indices": [-1]}, "at least 0"),
        ({"indices": []}, r"inputs 0\.\.2"),
        ({"indices": "7:"}, "none of the 3 inputs"),
        ({"inputs": np.zeros((2, 63))}, "expected an entry for each input"),
    ],
)
def test_arguments_that_suit_no_input_are_refused_before_anything_is_written(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        study(tmp_path / "study.jsonl", **options)
    assert not (tmp_path / "study.jsonl").exists()


def test_a_label_of_some_inputs_fails_the_others(tmp_path: Path) -> None:
    tally = study(tmp_path / "study.jsonl", label=explained(0).prediction, epsilon=0.01)
    assert (tally.done >= 1, tally.failed >= 1) == (True, True)


def test_a_solver_that_is_not_installed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SolverUnavailableError):
        study(tmp_path / "study.jsonl", solver="pulp:NOTHING")


def test_several_workers_need_joblib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "joblib.externals.loky", None)
    with pytest.raises(InputError, match="needs joblib: pip install"):
        study(tmp_path / "study.jsonl", workers=2)
    assert study(tmp_path / "study.jsonl", epsilon=0.01, workers=1).done == 3


@pytest.mark.slow
def test_a_network_in_memory_goes_to_workers_too(tmp_path: Path) -> None:
    pytest.importorskip("joblib")
    of_file, of_bytes = tmp_path / "file.jsonl", tmp_path / "bytes.jsonl"
    explain_many(MODEL, images()[:2], epsilon=0.05, journal=of_file, workers=2)
    explain_many(MODEL.read_bytes(), images()[:2], epsilon=0.05, journal=of_bytes, workers=2)
    found, expected = (
        [{**one, "key": None, "network": None} for one in lines(path)]
        for path in (of_bytes, of_file)
    )
    assert comparable(found) == comparable(expected)


def test_a_contrast_that_is_not_found_leaves_open_whether_the_prediction_is_robust(
    tmp_path: Path,
) -> None:
    path = tmp_path / "study.jsonl"
    explain_many(
        network(), images()[15:16], epsilon=0.2, task="contrastive", journal=path, time_limit=1e-9
    )
    (found,) = lines(path)
    assert (found["status"], found["explanation"], found["robust"]) == ("undecided", None, None)
