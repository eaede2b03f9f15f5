"""``milp-verix export`` writes the program that a check solves."""

import re
from pathlib import Path

import highspy
import numpy as np
import pytest
from typer.testing import CliRunner

import milp_verix
from milp_verix.cli.app import app
from tests.support.random_networks import as_layers, dense_network, random_layers


def run(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["export", *map(str, arguments)])
    return done.exit_code, done.output


@pytest.fixture(name="given")
def given_(tmp_path: Path) -> list[object]:
    network = dense_network(random_layers(np.random.default_rng(4), (4, 6, 3)), tmp_path)
    np.save(tmp_path / "x.npy", np.full(4, 0.5))
    return [network.path, tmp_path / "x.npy", "--epsilon", 0.3]


def least(path: Path) -> float:
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    highs.run()
    return float(highs.getInfo().objective_function_value)


@pytest.mark.parametrize("suffix", [".lp", ".mps"])
@pytest.mark.parametrize("extra", [[], ["--formulation", "partition"], ["--free", "FILE"]])
def test_the_file_decides_the_check(
    suffix: str, extra: list[str], given: list[object], tmp_path: Path
) -> None:
    free = [0, 2] if extra == ["--free", "FILE"] else [0, 1, 2, 3]
    (tmp_path / "free.json").write_text(str(free))
    extra = [str(tmp_path / "free.json") if word == "FILE" else word for word in extra]
    network = milp_verix.load_network(str(given[0]))
    label = int(np.argmax(network.ir.evaluate(np.full(4, 0.5))))
    worst = []
    for rival in {0, 1, 2} - {label}:
        out = tmp_path / f"check{suffix}"
        code, text = run(*given, "--rival", rival, "--out", out, *extra)
        assert code == 0
        found = re.search(rf"f_{rival} - f_{label} = (\S+) - cost", text)
        assert found, text
        worst.append(float(found.group(1)) - least(out))
    verdict = milp_verix.check(network, np.full(4, 0.5), free, epsilon=0.3)
    assert verdict.holds == (max(worst) < 0)


def test_the_rival_is_the_runner_up_by_default(given: list[object], tmp_path: Path) -> None:
    network = milp_verix.load_network(str(given[0]))
    last, runner_up, label = np.argsort(network.ir.evaluate(np.full(4, 0.5)))
    code, text = run(*given, "--out", tmp_path / "check.lp")
    assert code == 0
    assert f"f_{runner_up} - f_{label} = " in text
    assert f"f_{last}" not in text


def test_the_margin_is_that_of_a_class_compared_with(given: list[object], tmp_path: Path) -> None:
    network = milp_verix.load_network(str(given[0]))
    *rivals, label = np.argsort(network.ir.evaluate(np.full(4, 0.5))).tolist()
    out = tmp_path / "check.lp"
    for rival, other in (rivals, rivals[::-1]):
        least_of = set()
        for extra in (["--against", rival], ["--rival", rival]):
            code, text = run(*given, "--out", out, *extra)
            assert (code, f"f_{rival} - f_{label} = " in text) == (0, True)
            least_of.add(round(least(out), 6))
        assert len(least_of) == 1
        code, text = run(*given, "--out", out, "--against", rival, "--rival", other)
        assert (code, "one of those --against" in text) == (2, True)


def test_a_regression_is_exported(tmp_path: Path) -> None:
    network = dense_network(as_layers(([[1, -1]], [0]), ([[2.0]], [1])), tmp_path)
    np.save(tmp_path / "x.npy", np.full(2, 0.5))
    out = tmp_path / "check.lp"
    code, text = run(
        *(network.path, tmp_path / "x.npy", "--epsilon", 0.25, "--delta", 0.4, "--out", out)
    )
    assert code == 0
    found = re.search(r"= (\S+) - cost", text)
    assert found
    # f goes from 1 to 1 + 2 · ½
    assert float(found.group(1)) - least(out) == pytest.approx(0.6, abs=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "OUT/check.txt"], r"\.lp or \.mps"),
        (["--out", "OUT/none/check.lp"], "cannot write"),
        (["--out", "OUT/check.lp", "--rival", "7"], "--rival is a class"),
        (["--out", "OUT/check.lp", "--free", "some"], "there is no feature 'some'"),
        (["--out", "OUT/check.lp", "--formulation", "big"], "unknown formulation"),
    ],
)
def test_what_cannot_be_written_is_refused(
    arguments: list[str], message: str, given: list[object], tmp_path: Path
) -> None:
    code, text = run(*given, *(word.replace("OUT", str(tmp_path)) for word in arguments))
    assert code == 2
    assert re.search(message, text)
    assert "Traceback" not in text
