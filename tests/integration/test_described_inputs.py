"""Described inputs from end to end: words in summaries, pictures and JSON, and the command line."""

import json
import re
from pathlib import Path

import highspy
import numpy as np
import onnx
import pytest
from matplotlib.text import Text

from milp_verix import (
    EpsilonSweep,
    Explanation,
    InputError,
    Inputs,
    Relevance,
    RobustnessRadii,
    binary,
    category,
    epsilon_sweep,
    explain,
    fixed,
    integer,
    write_report,
)
from milp_verix.api.calls import contrastive
from milp_verix.views.explanation_words import headline
from milp_verix.views.result_words import facts_of
from tests.support.command_line import run_here as run
from tests.support.random_networks import as_layers, dense_model

FEATURES = [
    integer("age", 18, 75, "years"),
    binary("arrears"),
    category("contract", ["permanent", "fixed-term", "none"], one_hot=True),
]
REST = [fixed("b"), fixed("c")]
PERSON = {"age": 40, "arrears": "no", "contract": "permanent"}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Return the path of a linear network whose class is 1 for a good score."""
    score = [0.1, -3.0, 1.0, 0.5, -1.0]
    layers = as_layers(([[0.0] * 5, score], [0.0, -3.05]))
    path = tmp_path / "loan.onnx"
    onnx.save(dense_model(layers), path)
    return path


@pytest.mark.slow
def test_summaries_and_pictures_have_names_and_words(model: Path, tmp_path: Path) -> None:
    inputs = Inputs(FEATURES, ["(contract == 'none').implies(arrears == 'yes')"])
    found = explain(model, PERSON, epsilon={"age": 10, "*": 1}, inputs=inputs, order=[0, 1, 2])
    # with the rule, a contract without arrears is never "none"
    assert found.explanation == (1,)
    told = dict(facts_of(found))
    assert told["features"] == "arrears = no"
    assert told["ball"] == "ε of its own for each feature, 1 to 10, 1 rule"
    changes = told["if arrears is free"]
    assert changes.startswith("arrears: no → yes")
    assert changes.endswith(": class 0")
    written = {text.get_text() for text in found.plot(tmp_path / "loan.png").findobj(Text)}
    assert {"arrears", "no", "→ yes", "40 years", "permanent", "18", "75", "3 values"} <= written
    assert "arrears = no" in found._repr_html_()
    held = json.loads(found.to_json())
    assert held["words"] == {"age": "40 years", "arrears": "no", "contract": "permanent"}
    assert held["inputs"]["rules"] == ["(contract == 'none').implies(arrears == 'yes')"]
    assert held["radii"] == [10.0, 1.0, 1.0]


def test_contrasts_say_what_changes_to_what(model: Path, tmp_path: Path) -> None:
    found = contrastive(model, PERSON, epsilon=float("inf"), inputs=FEATURES)
    assert found.proven
    assert found.size == 1
    changes = [text for name, text in facts_of(found) if name == "change"]
    assert len(changes) == 1
    assert " → " in changes[0]
    found.plot(tmp_path / "contrast.png")


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
    done = run("explain", model, array, "--inputs", described, "--epsilon", "1sd")
    assert done.returncode == 2
    assert "age has no standard deviation" in done.stderr
    spread = Inputs([integer("age", 18, 75, deviation=12.5), fixed("arrears"), fixed("a"), *REST])
    described.write_text(json.dumps(spread.to_data()))
    done = run("explain", model, array, "--inputs", described, "--epsilon", "0.2sd", "--json", out)
    assert done.returncode == 0, done.stderr
    assert Explanation.from_json(out).radii == (2.5, 0.0, 0.0, 0.0, 0.0)
    described.write_text(json.dumps(Inputs(FEATURES).to_data()))
    person.write_text(json.dumps({**PERSON, "contract": "marriage"}))
    done = run("explain", *given)
    assert done.returncode == 2
    assert "no value 'marriage'" in done.stderr
    done = run("explain", model, array, "--inputs", tmp_path / "no.toml", "--epsilon", "1")
    assert done.returncode == 2
    assert "cannot read" in done.stderr


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Return the person and the description as files."""
    described, person = tmp_path / "inputs.json", tmp_path / "person.json"
    described.write_text(json.dumps(Inputs(FEATURES).to_data()))
    person.write_text(json.dumps(PERSON))
    return [person, described]


def test_a_sweep_takes_shares_of_ranges(model: Path, files: list[Path], tmp_path: Path) -> None:
    person, described = files
    out, plot = tmp_path / "sweep.json", tmp_path / "sweep.png"
    given = ["sweep", model, person, "--inputs", described, "--epsilons", "10%,inf,50%"]
    done = run(*given, "--json", out, "--plot", plot)
    assert done.returncode == 0, done.stderr
    found = EpsilonSweep.from_json(out)
    assert found.levels[0].radii == (np.inf, np.inf, np.inf)
    assert found.levels[2].radii == pytest.approx((5.7, 0.1, 0.1))
    for words in ("whole domain", "ε = 50 %", "ε = 10 %"):
        assert words in done.stdout
    assert plot.exists()
    assert "same radius" in run(*given[:-1], "10%,10%").stderr
    assert "is larger for arrears" in _refused(model)


def _refused(model: Path) -> str:
    with pytest.raises(InputError) as error:
        epsilon_sweep(model, PERSON, epsilons=[{"age": 9, "*": 0}, 1], inputs=FEATURES)
    return str(error.value)


def test_a_radius_is_told_in_the_unit_of_its_feature(
    model: Path, files: list[Path], tmp_path: Path
) -> None:
    person, described = files
    out, plot = tmp_path / "radius.json", tmp_path / "radius.png"
    given = ["radius", model, person, "--inputs", described]
    done = run(*given, "--each", "--json", out, "--plot", plot)
    assert done.returncode == 0, done.stderr
    told = " ".join(done.stdout.split())
    # the score is 0.1 age - 3 arrears - 2.05 for a permanent contract
    assert "age = 40 years by 19 years, not by 20" in told
    assert "arrears = no another value changes the prediction" in told
    assert RobustnessRadii.from_json(out).scale == (1.0, 1.0, 1.0)
    assert plot.exists()
    done = run(*given, "--free", "0", "--scale", "100%")
    assert "by 19 years, not by 20" in done.stdout
    done = run(*given, "--free", "0,2", "--scale", "100%")
    assert "% of each feature's range" in done.stdout
    assert run(*given[:3], "--scale", "2").returncode == 2


def test_compare_takes_a_description(model: Path, files: list[Path], tmp_path: Path) -> None:
    person, described = files
    out, checks = tmp_path / "compare.json", tmp_path / "checks.json"
    given = ["compare", model, person, "--inputs", described, "--epsilon", "inf"]
    done = run(*given, "--solvers", "highs,phase", "--json", out, "--save-checks", checks)
    assert done.returncode == 5, done.stderr
    assert "an attack decided 3 checks" in done.stderr
    told = json.loads(out.read_text(), parse_constant=pytest.fail)  # no Infinity
    assert (told["features"], told["epsilon"], told["agree"]) == (3, None, True)
    assert len({run["size"] for run in told["runs"]}) == 1
    assert "ε = ∞" in write_report(out)
    done = run(*given, "--solvers", "highs", "--checks", checks)
    assert done.returncode == 5, done.stderr


def test_export_has_the_whole_numbers(model: Path, files: list[Path], tmp_path: Path) -> None:
    person, described = files
    program = tmp_path / "check.lp"
    given = ["export", model, person, "--inputs", described, "--out", program]
    done = run(*given, "--epsilon", "inf")
    assert done.returncode == 0, done.stderr
    constant = float(re.search(r"= (\S+) - cost", done.stdout)[1])  # type: ignore[index]
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.readModel(str(program))
    highs.run()
    # the lowest score: 18 years, arrears, no contract
    worst = -(0.1 * 18 - 3 - 1 - 3.05)
    cost = highs.getInfo().objective_function_value
    assert constant - cost == pytest.approx(worst, abs=1e-5)


def test_relevance_on_the_command_line(model: Path, files: list[Path], tmp_path: Path) -> None:
    person, described = files
    out, page = tmp_path / "relevance.json", tmp_path / "relevance.html"
    named = Inputs(FEATURES, class_names=["refused", "granted"])
    described.write_text(json.dumps(named.to_data()))
    given = ["relevance", model, person, "--inputs", described, "--epsilon", "inf"]
    done = run(*given, "--protected", "arrears", "--json", out)
    assert done.returncode == 0, done.stderr
    sentence = "With arrears: no → yes alone, the decision becomes “refused”."
    assert sentence in " ".join(done.stdout.split())
    found = Relevance.from_json(out)
    assert (found.role, found.names) == ("necessary", ("arrears",))
    text = write_report(out, page)
    assert "necessary: in every explanation" in text
    assert "protected" in text
    heads = re.findall(r'<th scope="col">([^<]*)</th>', text)
    assert heads == ["feature", "value", "decision “refused”"]
    assert sentence in text
    assert run(*given, "--protected", "0,contract", "--time-limit", "1e-9", "-q").returncode == 3
    refused = run(*given, "--protected", "wage")
    assert refused.returncode == 2
    assert "arrears" in refused.stderr


def test_class_names_are_one_for_each_class(model: Path) -> None:
    three = Inputs(FEATURES, class_names=["no", "perhaps", "yes"])
    with pytest.raises(InputError, match="3 classes"):
        explain(model, PERSON, epsilon=1, inputs=three)
    for wrong in ("yes", ["yes", "yes"], ["", "no"], 7):
        with pytest.raises(InputError, match="class_names"):
            Inputs(FEATURES, class_names=wrong)  # type: ignore[arg-type]
    two = Inputs(FEATURES, class_names=["no", "yes"])
    assert two != Inputs(FEATURES)
    ruled = two.where("age >= 18")
    assert Inputs.from_data(ruled.to_data()) == ruled
    found = explain(model, PERSON, epsilon=1, inputs=two)
    assert headline(found).startswith("Decision “yes”, explained by")
    assert dict(facts_of(found))["prediction"] == "“yes” (class 1)"
    assert dict(facts_of(found))["in words"] == found.sentence()
