"""The commands ``radius`` and ``sweep``."""

import json
from pathlib import Path

import numpy as np
import pytest

from milp_verix import EpsilonSweep, RobustnessRadii
from tests.support.command_line import SEVEN, run_here
from tests.support.digits_example import MODEL

LONG = "x" * 3000


def test_sweep_writes_prints_and_draws(tmp_path: Path) -> None:
    stored, plot = tmp_path / "sweep.json", tmp_path / "sweep.png"
    done = run_here(
        "sweep", MODEL, SEVEN, "--epsilons", "0.1,1/20", "--json", stored, "--plot", plot
    )
    assert done.returncode == 0, done.stderr
    found = EpsilonSweep.from_json(stored)
    assert found.epsilons == (0.1, 0.05)
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert "ε = 0.05" in done.stdout


def test_a_sweep_over_files_of_radii(tmp_path: Path) -> None:
    out, array, listed = tmp_path / "sweep.json", tmp_path / "a.npy", tmp_path / "b.json"
    np.save(array, np.full((8, 8), 0.1))
    listed.write_text(json.dumps([0.05] * 64), encoding="utf-8")
    given = f"{listed},{array},0.01"
    done = run_here("sweep", MODEL, SEVEN, "--epsilons", given, "--json", out, "-q")
    assert done.returncode == 0, done.stderr
    assert EpsilonSweep.from_json(out).epsilons == (0.1, 0.05, 0.01)


def test_radius_of_some_features(tmp_path: Path) -> None:
    stored, plot = tmp_path / "radius.json", tmp_path / "radius.svg"
    done = run_here("radius", MODEL, SEVEN, "--free", "20,21,28", "--json", stored, "--plot", plot)
    assert done.returncode == 0, done.stderr
    found = RobustnessRadii.from_json(stored)
    assert found.bracket.features == (20, 21, 28)
    assert "radius" in done.stdout
    assert plot.read_text(encoding="utf-8").startswith("<?xml")


def test_radius_of_each_feature(tmp_path: Path) -> None:
    plot = tmp_path / "each.png"
    done = run_here("radius", MODEL, SEVEN, "--each", "--plot", plot)
    assert done.returncode == 0, done.stderr
    assert "within ε = 1" in " ".join(done.stdout.split())
    assert plot.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("radius", MODEL, SEVEN, "--free", "a,b"), "there is no feature 'a'"),
        (("radius", MODEL, SEVEN, "--free", "3", "--each"), "leave it or free out"),
        (("radius", MODEL, SEVEN, "--tolerance", "2"), "above 0 and below 1"),
        (("sweep", MODEL, SEVEN, "--epsilons", "0.1,x"), "is no number"),
        (("sweep", MODEL, SEVEN, "--epsilons", "0.1,0.1"), "twice"),
        (("sweep", MODEL, SEVEN, "--epsilons", "0.1,none.npy"), "--epsilons: cannot read none.npy"),
    ],
)
def test_mistakes_are_told_in_a_line(arguments: tuple[object, ...], message: str) -> None:
    done = run_here(*arguments)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.replace("│", " ").split())


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("explain", MODEL, SEVEN, "--epsilon", LONG), "--epsilon"),
        (("explain", MODEL, SEVEN, "--epsilon", "0.1", f"--{LONG}"), "No such option"),
        (("explain", MODEL, SEVEN, "--epsilon", "0.1", "--label", LONG), "no class is called"),
        (("radius", MODEL, SEVEN, "--free", LONG), "there is no feature"),
        ((LONG,), "No such command"),
    ],
)
def test_long_texts_are_told_in_short_lines(given: tuple[object, ...], told: str) -> None:
    done = run_here(*given)
    assert done.returncode == 2
    assert told in done.stderr
    assert max(map(len, done.stderr.splitlines())) <= 400


def test_a_radius_that_time_does_not_settle_is_told() -> None:
    done = run_here("radius", MODEL, SEVEN, "--time-limit", "0.000001", "-q")
    assert done.returncode == 3
