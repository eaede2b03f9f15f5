"""Described inputs from end to end: words in summaries, pictures and JSON, and the command line."""

import json
from pathlib import Path

import numpy as np
import onnx
import pytest

from milp_verix import Explanation, Inputs, binary, category, explain, integer
from milp_verix.duality.contrastive import contrastive
from milp_verix.reporting.contrast_table import contrast_facts
from milp_verix.reporting.explanation_table import facts
from milp_verix.reporting.figures.tabular_plot import rows
from tests.support.command_line import run_here as run
from tests.support.random_networks import as_layers, dense_model

FEATURES = [
    integer("age", 18, 75, "years"),
    binary("arrears"),
    category("contract", ["permanent", "fixed-term", "none"], one_hot=True),
]
PERSON = {"age": 40, "arrears": "no", "contract": "permanent"}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Return the path of a linear network whose class is 1 for a good score."""
    score = [0.1, -3.0, 1.0, 0.5, -1.0]
    layers = as_layers(([[0.0] * 5, score], [0.0, -3.05]))
    path = tmp_path / "loan.onnx"
    onnx.save(dense_model(layers), path)
    return path


def test_summaries_and_pictures_have_names_and_words(model: Path, tmp_path: Path) -> None:
    inputs = Inputs(FEATURES, ["(contract == 'none').implies(arrears == 'yes')"])
    found = explain(model, PERSON, epsilon={"age": 10, "*": 1}, inputs=inputs, order=[0, 1, 2])
    # with the rule, a contract without arrears is never "none"
    assert found.explanation == (1,)
    told = dict(facts(found))
    assert told["features"] == "arrears = no"
    assert told["ball"] == "ε of its own for each feature, 1 to 10, 1 rule"
    changes = told["if arrears is free"]
    assert changes.startswith("arrears: no → yes")
    assert "age: 40 years → " in changes
    assert changes.endswith(": class 0")
    labels = {row.label for row in rows(found)}
    assert {"age = 40 years", "contract = permanent"} <= labels
    found.plot(tmp_path / "loan.png")
    assert "arrears = no" in found._repr_html_()
    held = json.loads(found.to_json())
    assert held["words"] == {"age": "40 years", "arrears": "no", "contract": "permanent"}
    assert held["inputs"]["rules"] == ["(contract == 'none').implies(arrears == 'yes')"]
    assert held["radii"] == [10.0, 1.0, 1.0]


def test_contrasts_say_what_changes_to_what(model: Path, tmp_path: Path) -> None:
    found = contrastive(model, PERSON, epsilon=float("inf"), inputs=FEATURES)
    assert found.proven
    assert found.size == 1
    changes = [text for name, text in contrast_facts(found) if name == "change"]
    assert len(changes) == 1
    assert " → " in changes[0]
    found.plot(tmp_path / "contrast.png")


@pytest.mark.slow
def test_the_command_line_takes_a_description(model: Path, tmp_path: Path) -> None:
    described, person, out = (tmp_path / f"{n}.json" for n in ("inputs", "person", "out"))
    described.write_text(json.dumps(Inputs(FEATURES).to_data()))
    person.write_text(json.dumps(PERSON))
    given = [model, person, "--inputs", described, "--epsilon", "inf"]
    done = run("explain", *given, "--json", out)
    assert done.returncode == 0, done.stderr
    assert "contract = permanent" in done.stdout or "arrears = no" in done.stdout
    assert "whole domain" in done.stdout
    found = Explanation.from_json(out)
    assert found.inputs == Inputs(FEATURES)
    assert found.epsilon == np.inf
    for command in ("minimum", "contrastive", "enumerate"):
        done = run(command, *given, "--quiet")
        assert done.returncode == 0, done.stderr
    array = tmp_path / "x.npy"
    np.save(array, Inputs(FEATURES).row(PERSON))
    done = run("explain", model, array, "--inputs", described, "--epsilon", "20%", "--quiet")
    assert done.returncode == 0, done.stderr
    person.write_text(json.dumps({**PERSON, "contract": "marriage"}))
    done = run("explain", *given)
    assert done.returncode == 2
    assert "no value 'marriage'" in done.stderr
    done = run("explain", model, array, "--inputs", tmp_path / "no.toml", "--epsilon", "1")
    assert done.returncode == 2
    assert "cannot read" in done.stderr
