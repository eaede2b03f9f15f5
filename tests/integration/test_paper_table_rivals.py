"""The table of rivals: overlays, the journal that it goes on from, and the shares it tells."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import milp_verix
from benchmarks.paper.rival_runs import COUNTS, OURS, Run, probabilities, run_rivals, survived
from benchmarks.paper.scales import small
from benchmarks.paper.table_rivals import rivals_table, table
from benchmarks.paper.workplace import Workplace
from tests.support.digits_example import images, network

X = images()[:, 0, :, :, None]


def test_overlays_keep_the_mask() -> None:
    nothing, everything = np.zeros((8, 8), bool), np.ones((8, 8), bool)
    own = int(np.argmax(network().evaluate(X[0])))
    classes = [int(np.argmax(network().evaluate(x))) for x in X]
    first = next(k for k, label in enumerate(classes) if label != own)
    assert survived(network(), X[0], nothing, X) == first
    assert survived(network(), X[0], everything, X) == len(X)
    half = np.arange(64).reshape(8, 8) < 32
    mixed = np.concatenate([np.repeat(X[:1, :4], len(X), axis=0), X[:, 4:]], axis=1)
    kept = [int(np.argmax(network().evaluate(x))) == own for x in mixed]
    assert survived(network(), X[0], half, X) == [*kept, False].index(False)


def test_probabilities_are_a_softmax() -> None:
    found = probabilities(network())(X)
    assert found.shape == (20, 10)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    scores = np.array([network().evaluate(x) for x in X], np.float64)
    np.testing.assert_allclose(np.log(found[:, 0] / found[:, 1]), scores[:, 0] - scores[:, 1])


@pytest.mark.slow
def test_runs_are_sound_and_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def runs(count: int) -> list[Run]:
        methods = ("sensitivity", "random")
        given = network(), X[:count], np.repeat(X, 50, axis=0), 0.1, tmp_path
        return list(run_rivals(*given, name="digits", methods=methods))

    first = runs(2)
    journal = tmp_path / "rivals.jsonl"
    assert [run.answer for run in first] == ["holds"] * 4
    # what is proven survives every image of the ball
    assert [run.within for run in first] == [COUNTS[-1]] * 4
    for run in first:
        free = [pixel for pixel in range(64) if pixel not in run.features]
        assert milp_verix.check(network(), X[run.image], free, epsilon=0.1).holds
    journal.write_text(journal.read_text() + '{"network": "dig')
    again = runs(3)
    assert again[:4] == first
    assert len(again) == 6
    monkeypatch.setattr(milp_verix, "explain", None)
    assert runs(3) == again


def test_the_table_tells_shares_and_means() -> None:
    run = Run("mnist-10x2", 0, 0.05, "anchors", 3, [1, 2, 3], 1.0, 1000, 1000, "holds", 1, 0, 0.5)
    runs = [
        run,
        replace(run, image=1, features=[1], seconds=3.0, whole=99, answer="violated", certified=8),
        replace(run, image=2, whole=100, within=9, answer="unknown"),
        replace(run, image=3, whole=500, within=10, certified=3),
        replace(run, epsilon=0.1, method="sensitivity", certified=3),
    ]
    rows = [line.strip("| ").split(" | ") for line in str(table(runs, quiet=True)).splitlines()]
    assert rows[2] == [
        *("mnist-10x2", "0.05", "Anchors", "4", "2.5", "75 %", "1.50"),
        *("100/75/50/25 %", "75/50/50/50 %", "50 %", "25 %", "25 %", "1.0", "7.0"),
        "494.9, 13.46 s",
    ]
    assert rows[3][:4] == ["mnist-10x2", "0.1", "ours, order sensitivity", "1"]
    assert rows[3][-3:] == ["–", "–", "–"]


@pytest.mark.slow
def test_without_the_rivals_packages_the_table_has_our_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "benchmarks.paper.table_rivals.find_spec", lambda name: name not in ("lime", "anchor")
    )
    place = Workplace(tmp_path, small().at_most(1), {})
    about, made = rivals_table(place)
    assert str(about).endswith("Not installed here: `.[rivals]`.")
    rows = [line.split(" | ") for line in str(made).splitlines()[2:]]
    names = ["digits-dense", "digits-dense-large"]
    expected = [(name, f"ours, order {order}") for name in names for order in OURS]
    assert [(row[0].strip("| "), row[2]) for row in rows] == expected
    proven = str(made).splitlines()[0].split(" | ").index("proven")
    assert {row[proven] for row in rows} == {"100 %"}
