import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import milp_verix
from milp_verix import InputError, Tally, explain_many, run_study, write_report
from tests.support.command_line import run_here
from tests.support.digits_example import IMAGES, MODEL, images
from tests.support.studies import comparable, lines

QUESTION = f"""
model = "{MODEL.as_posix()}"
xs = "{IMAGES.as_posix()}:images"
"""


def written(folder: Path, text: str, name: str = "study.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_files_of_radii(tmp_path: Path) -> None:
    np.save(tmp_path / "radii.npy", np.full((8, 8), 0.1))
    (tmp_path / "named.json").write_text('{"*": 0.01}', encoding="utf-8")
    given = 'epsilon = ["radii.npy", "named.json", "8/255", {"*" = 0.02}]'
    path = written(tmp_path, f'{QUESTION}indices = "15:16"\n{given}\nresults = false')
    assert run_study(path).done == 4
    called = ",".join([f"{tmp_path}/radii.npy", f"{tmp_path}/named.json", "8/255"])
    options = ("--epsilon", called, "--indices", "15:16", "--journal", tmp_path / "study.jsonl")
    done = run_here("batch", MODEL, f"{IMAGES}:images", *options, "--no-results")
    assert done.returncode == 0, done.stderr
    assert len(lines(tmp_path / "study.jsonl")) == 4


@pytest.mark.slow
def test_a_file_a_call_and_a_command_are_the_same_study(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        f"""{QUESTION}
        indices = "14:16"
        epsilon = [0.01, "8/255"]
        task = ["explain", "minimum"]
        results = false
        [grid]
        order = ["influence", "bound"]
        [options]
        norm = "linf"
        time_limit = 60
        """,
    )
    tally = run_study(path)
    assert (tally.total, tally.done) == (12, 12)
    found = lines(tmp_path / "study.jsonl")
    assert {one["result"] for one in found} == {None}
    explain_many(
        MODEL,
        images(),
        indices="14:16",
        epsilon=[0.01, 8 / 255],
        task=["explain", "minimum"],
        grid={"order": ["influence", "bound"]},
        time_limit=60,
        results=False,
        journal=tmp_path / "call.jsonl",
    )
    assert comparable(lines(tmp_path / "call.jsonl")) == comparable(found)
    options = ("--epsilon", "0.01,8/255", "--task", "explain,minimum", "--order", "influence,bound")
    places = ("--indices", "14:16", "--journal", tmp_path / "study.jsonl", "--time-limit", 60)
    done = run_here("batch", MODEL, f"{IMAGES}:images", *options, *places)
    assert "12 known before" in done.stdout
    again = run_here("batch", path)
    assert again.returncode == 0, again.stderr
    assert "12 known before" in again.stdout
    assert str(tmp_path / "study.jsonl") in again.stdout.replace("\n", "")


def test_several_networks_and_parts_share_a_journal(tmp_path: Path) -> None:
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "copy.onnx").write_bytes(MODEL.read_bytes())
    np.save(tmp_path / "some.npy", images()[:2])
    path = written(
        tmp_path,
        f"""
        epsilon = 0.01
        journal = "out.jsonl"
        model = "none.onnx"
        xs = "some.npy"
        options = {{exactness = "bounds", bounds = "interval"}}
        [[study]]
        models = ["nets/copy.onnx", "{MODEL.as_posix()}"]
        [[study]]
        model = "{MODEL.as_posix()}"
        epsilon = [0.02]
        indices = [1]
        options = {{bounds = "crown"}}
        """,
    )
    seen: list[Tally] = []
    tally = run_study(path, progress=seen.append)
    found = lines(tmp_path / "out.jsonl")
    assert (tally.total, tally.ended, tally.known) == (5, 5, 2)  # both files are one network
    assert {one.total for one in seen} == {5}
    assert sorted((one["epsilon"], one["index"]) for one in found) == [
        (0.01, 0),
        (0.01, 1),
        (0.02, 1),
    ]
    bounds = {(one["epsilon"], one["settings"]["bounds"]) for one in found}
    assert bounds == {(0.01, "interval"), (0.02, "crown")}
    assert {one["settings"]["exactness"] for one in found} == {"bounds"}


def test_files_of_options_and_pictures_are_beside_the_file(tmp_path: Path) -> None:
    order = np.arange(64)[::-1]
    np.save(tmp_path / "order.npy", order)
    (tmp_path / "groups.json").write_text(json.dumps([[i, i + 1] for i in range(0, 64, 2)]))
    (tmp_path / "pictures").mkdir()
    grey = np.round(images()[15].reshape(8, 8) * 255).astype(np.uint8)
    Image.fromarray(grey).save(tmp_path / "pictures" / "a.png")
    path = written(
        tmp_path,
        f"""
        model = "{MODEL.as_posix()}"
        xs = "pictures"
        epsilon = 0.05
        grid = {{features = ["groups.json"]}}
        """,
    )
    assert run_study(path, results=tmp_path / "whole").complete
    (record,) = lines(tmp_path / "study.jsonl")
    assert record["name"] == "a.png"
    assert "the input's bytes were scaled from 0..255 to [0, 1]" in record["notes"]
    result = milp_verix.read_result(tmp_path / "study.jsonl", record)
    assert result is not None
    assert len(result.groups) == 32
    np.testing.assert_array_equal(result.input.reshape(8, 8), (grey / np.float32(255)))
    other = QUESTION + 'epsilon = 0.01\nindices = "0"\n[options]\norder = "order.npy"'
    run_study(written(tmp_path, other, "b.toml"))
    stored = milp_verix.read_result(tmp_path / "b.jsonl", lines(tmp_path / "b.jsonl")[0])
    assert isinstance(stored, milp_verix.Explanation)
    assert stored.permutation == tuple(order)


def test_arguments_replace_keys_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(
        tmp_path, QUESTION + 'epsilon = 0.1\nindices = "0:9"\n[options]\ntime_limit = 60'
    )
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    beside = ("--indices", 15, "--journal", "my.jsonl", "--time-limit", "1e-9", "--no-results")
    done = run_here("batch", path, *beside)
    assert done.returncode == 3
    (record,) = lines(tmp_path / "work" / "my.jsonl")
    assert (record["index"], record["status"], record["result"]) == (15, "undecided", None)
    assert record["settings"]["time_limit"] == 1e-9
    assert not (tmp_path / "study.jsonl").exists()
    tally = run_study(path, indices=[15], journal="my.jsonl", retry="undecided")
    assert (tally.total, tally.done) == (1, 1)
    with pytest.raises(InputError, match="unknown key 'norm'; the known ones are journal, results"):
        run_study(path, norm="l2")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model = ", "is no TOML file"),
        ("epsilon = 0.1\nmodle = 1", "unknown key 'modle'; the known ones are model, models"),
        ("[[study]]\njournal = 'a'", r"\[\[study\]\] 1: unknown key 'journal'"),
        ("[study]\nmodel = 'a'", "in two brackets"),
        ("epsilon = 0.1\nxs = 'a.npy'", "name one network by model, or several by models"),
        ("model = 'a'\nmodels = ['b']\ninputs = 'a'\nepsilon = 1", "name one network"),
        ("models = []\nxs = 'a.npy'\nepsilon = 1", "models names no network"),
        ("model = 'a.onnx'\ngrid = 3", "grid is a table"),
        ("model = 'a.onnx'", "xs and epsilon must be given"),
        ("model = 3\nxs = 'a.npy'\nepsilon = 0.1", "model is a text, got 3"),
        ("models = 'a'\nxs = 'a.npy'\nepsilon = 0.1", "models is a list"),
        ("model = 'none.onnx'\nxs = 'a.npy'\nepsilon = 0.1", "none.onnx"),
        (QUESTION + "epsilon = 'x'", "epsilon: 'x' is no number"),
        (QUESTION + "epsilon = [[1]]", "epsilon has 1 radius, but there are 64 features"),
        (QUESTION + "epsilon = 0.1\n[options]\nnrom = 'l2'", "can take no 'nrom'"),
        (QUESTION + "epsilon = 0.1\n[options]\ndomain = 3", "domain"),
        (QUESTION + "epsilon = 0.1\n[options]\ncosts = 'none.npy'", "cannot read .*none.npy"),
        (QUESTION + "epsilon = 0.1\n[options]\nsolver = 'pulp?logPath=log'", "may not set"),
        (QUESTION + "epsilon = 0.1\n[grid]\nsolver = ['pulp:HiGHS?log_file=a']", "may not set"),
        (QUESTION + "epsilon = 0.1\n[grid]\norder = 'bound'", "order in the grid is a list"),
        (QUESTION + "epsilon = 0.1\n[grid]\ndomain = [[0, 1]]", "not in the grid"),
        (QUESTION + "epsilon = 0.1\nretry = 'done'", "unknown retry"),
        (QUESTION + "epsilon = 0.1\nworkers = 'many'", "workers"),
        (QUESTION + "epsilon = 0.1\njournal = 3", "journal"),
        (QUESTION + "epsilon = 0.1\nresults = 3", "results"),
        (QUESTION + "epsilon = 0.1\nindices = 3", "indices"),
        (QUESTION + "epsilon = 0.1\ncolumns = 'a'", "columns"),
    ],
)
def test_mistakes_in_a_file_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises((InputError, milp_verix.ModelError), match=message):
        run_study(path)
    assert [one.name for one in tmp_path.iterdir()] == ["study.toml"]


@pytest.mark.parametrize("option", [("--epsilon", "0.1"), ("--norm", "l2"), ("a.npy",)])
def test_options_that_the_file_answers_are_refused(tmp_path: Path, option: tuple[Any, ...]) -> None:
    done = run_here("batch", written(tmp_path, QUESTION + "epsilon = 0.1"), *option)
    assert done.returncode == 2
    assert "leave it out. Beside a study file, these may be given: --journal" in done.stderr


def test_a_question_is_whole(tmp_path: Path) -> None:
    for given in ((MODEL,), (MODEL, f"{IMAGES}:images", "--epsilon", "0.1"), ("none.toml",)):
        done = run_here("batch", *given)
        assert done.returncode == 2
        assert done.stderr.startswith("error: ")


@pytest.mark.parametrize(
    ("lines_", "told"),
    [
        ("task = [[]]", r"unknown task \[\]"),
        ('retry = [["failed"]]', "unknown retry"),
        ("workers = 9223372036854775807", "workers are processes of this machine"),
        ('results = "a\\u0000b"', "results has a null character"),
        ('journal = "\\u0000"', "journal has a null character"),
        ("[options]\nsolver = 5", "solver must be the name of a solver, got 5"),
        (
            "[options]\nagainst = nan",
            "against must be a name, an index, .*, got nan",
        ),
        ("[options]\ninputs = 1", "inputs are a list of features"),
        ("[options]\ntolerances = 1e-7", "tolerances are Tolerances, or values by name"),
        (
            "[options.tolerances]\nmagrin = 1e-7",
            "unknown tolerance 'magrin'.* mean 'margin'",
        ),
        ("[options.tolerances]\nmargin = -1", "the tolerance margin is a number of at least 0"),
        ("[options.tolerances]\nmargin = nan", "the tolerance margin is a number of at least 0"),
        ("[options.tolerances]\nmargin = inf", "the tolerance margin is a number of at least 0"),
        ("[grid]\ntolerances = [1]", "tolerances are Tolerances, or values by name, got 1"),
    ],
)
def test_odd_values_of_a_file_are_refused(tmp_path: Path, lines_: str, told: str) -> None:
    path = written(tmp_path, f'{QUESTION}\nepsilon = 0.05\nindices = "0:1"\n{lines_}\n')
    with pytest.raises(InputError, match=told):
        run_study(path)


@pytest.mark.nightly
def test_tolerances_are_set_in_a_file(tmp_path: Path) -> None:
    asked = '\nepsilon = 0.05\nindices = "15:16"\ntask = "explain"\nresults = false\n'
    path = written(tmp_path, QUESTION + asked + "[grid]\ntolerances = [{}, {margin = 1e6}]\n")
    run_study(path)
    default, wide = lines(tmp_path / "study.jsonl")
    assert default["settings"]["tolerances"]["margin"] == 1e-6
    assert wide["settings"]["tolerances"]["margin"] == 1e6
    # no bound proves that the margins are below minus a million
    assert (default["status"], wide["status"]) == ("done", "undecided")
    assert wide["size"] > default["size"]
    assert write_report(tmp_path / "study.jsonl")
