"""Rules over tables: what they claim of each row, how they cover, and what they write."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from sklearn.linear_model import LogisticRegression

import milp_verix
from milp_verix import InputError, Ranges
from tests.support.certificates import checked
from tests.support.mixed_domains import mixed_case


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 3])
def test_rules_are_right_on_each_row_that_they_cover(seed: int, tmp_path: Path) -> None:
    case = mixed_case(seed, rules=False)
    network, inputs = case.network(tmp_path), case.inputs
    choices = [
        range(len(f.values)) if f.one_hot else f.codes or range(int(f.lower), int(f.upper) + 1)
        for f in case.features
    ]
    rows = np.array([case.placed(point) for point in [*product(*choices)][::5]])
    found = milp_verix.find_rules(
        network, rows, epsilon=np.inf, inputs=inputs, count=3, tries=8, seed=1
    )
    predicted = np.array([int(np.argmax(network.evaluate(row))) for row in rows])
    covered, counts = np.zeros(len(rows), dtype=bool), []
    for rule in found.rules:
        inside = np.ones(len(rows), dtype=bool)
        for one in rule.ranges:
            inside &= np.array([rule.holds(one, row) for row in rows])
        assert np.all(predicted[inside] == rule.prediction)
        before = int(covered.sum())
        assert (rule.rows, rule.inside) == (len(rows), inside.sum())  # of all rows given
        covered |= inside
        counts.append(int(covered.sum()))
        assert counts[-1] > before
    assert found.covered == tuple(counts)
    assert found.coverage == covered.mean() > 0
    gains = np.diff([0, *counts])
    assert np.all(gains[:-1] >= gains[1:])
    same = milp_verix.find_rules(
        network, rows, epsilon=np.inf, inputs=inputs, count=3, tries=8, seed=1
    )
    assert same.covered == found.covered
    console = Console(width=200, record=True)
    console.print(found.summary())
    assert found.sentence() in console.export_text()


def test_each_rule_is_written_with_its_proof(tmp_path: Path) -> None:
    case = mixed_case(0, rules=False)
    network = case.network(tmp_path)
    found = milp_verix.find_rules(
        network, case.point[None], epsilon=np.inf, inputs=case.inputs, count=1
    )
    assert found.sentence() == "This rule proves 100 % of the predictions on 1 row."
    rule, proof = found.write(tmp_path, network)
    assert Ranges.from_json(rule).intervals == found.rules[0].intervals
    assert network.path is not None
    assert checked(network.path.read_bytes(), proof.read_text(encoding="utf-8"))
    with pytest.raises(InputError, match="no folder"):
        found.write(tmp_path / "none")


def test_rows_that_are_no_inputs_are_refused(tmp_path: Path) -> None:
    case = mixed_case(0, rules=False)
    for rows in ([], 3, np.full((2, case.point.size), 99.0)):
        with pytest.raises(InputError, match="row"):
            milp_verix.find_rules(case.network(tmp_path), rows, epsilon=1, inputs=case.inputs)


def test_rows_with_a_radius_for_each_number_get_rules() -> None:
    rows = np.random.default_rng(0).uniform(-1, 1, size=(20, 3))
    model = LogisticRegression().fit(rows, rows[:, 0] > 0)
    asked = {"epsilon": np.array([0.3, 0.0, 0.1]), "domain": (-1, 1)}
    found = milp_verix.find_rules(model, rows, count=2, **asked)
    assert found.coverage > 0
    assert "Only inputs between -1 and 1 count." in str(found.rules[0].sentence())


def test_rules_hold_a_limit_of_memory(tmp_path: Path) -> None:
    case = mixed_case(0, rules=False)
    asked: dict[str, Any] = {"epsilon": np.inf, "inputs": case.inputs, "count": 1}
    rows, network = case.point[None], case.network(tmp_path)
    assert milp_verix.find_rules(network, rows, memory="8 GB", **asked).rules
    assert not milp_verix.find_rules(network, rows, memory="1 kB", **asked).rules
    with pytest.raises(InputError, match="memory"):
        milp_verix.find_rules(network, rows, memory=-1, **asked)
