"""Checks in files."""

import json
from pathlib import Path

import numpy as np
import pytest

from milp_verix import InputError, compare
from milp_verix.comparison.compare import checks_of, read_checks, write_checks
from tests.support.digits_example import explained
from tests.support.random_networks import dense_network, random_layers


def test_checks_survive_a_file(tmp_path: Path) -> None:
    checks = checks_of(explained())
    write_checks(tmp_path / "checks.json", checks, 64)
    assert read_checks(tmp_path / "checks.json", 64) == checks


def test_the_checks_of_an_explanation() -> None:
    found, checks = explained(), checks_of(explained())
    assert [check[-1] for check in checks] == list(found.permutation)
    assert all(set(check[:-1]) <= set(found.irrelevant) for check in checks)
    assert set(checks[-1]) == {*found.irrelevant, found.permutation[-1]}
    assert all(len(set(check)) == len(check) for check in checks)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not JSON"),
        ("[[0]]", "holds no checks: expected"),
        ('{"schema": 2, "features": 64, "checks": [[0]]}', "holds no checks: expected"),
        ('{"schema": 1, "features": 64}', "holds no checks: expected"),
        ('{"schema": 1, "features": 63, "checks": [[0]]}', "are on 63 features, here are 64"),
        ('{"schema": 1, "features": 64, "checks": []}', "the list of checks is empty"),
        ('{"schema": 1, "features": 64, "checks": [[64]]}', "feature 64 is out of range"),
        ('{"schema": 1, "features": 64, "checks": [["a"]]}', "integer indices"),
        ('{"schema": 1, "features": 64, "checks": {"0": 1}}', "a list of lists"),
    ],
)
def test_files_that_hold_no_checks(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "checks.json").write_text(text)
    with pytest.raises(InputError, match=said):
        read_checks(tmp_path / "checks.json", 64)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read the checks in"):
        read_checks(tmp_path / "none.json", 64)
    with pytest.raises(InputError, match="cannot write"):
        write_checks(tmp_path / "none" / "checks.json", [[0]], 64)


def test_the_format_is_small(tmp_path: Path) -> None:
    write_checks(tmp_path / "checks.json", [[3, 1], []], 4)
    data = json.loads((tmp_path / "checks.json").read_text())
    assert data == {"schema": 1, "features": 4, "checks": [[3, 1], []]}


def test_a_check_keeps_its_order(tmp_path: Path) -> None:
    # an attack before the solvers is on the last feature of a check
    model = dense_network(random_layers(np.random.default_rng(3), (6, 8, 6, 3)), tmp_path)
    lists = [[4, 0], [2, 5, 1]]
    found = compare(model, np.full(6, 0.5), epsilon=0.1, checks=lists, solvers=["phase"])
    assert found.checks == ((4, 0), (2, 5, 1))
    masked = compare(
        model, np.full(6, 0.5), epsilon=0.1, checks=[np.arange(6) > 3], solvers=["phase"]
    )
    assert masked.checks == ((4, 5),)
