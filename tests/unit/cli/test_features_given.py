"""Options that take features read numbers, names and files of lists or masks by one rule."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import milp_verix
from milp_verix.cli.call_options import CallOptions
from tests.support.command_line import SEVEN, run_here
from tests.support.digits_example import MODEL

TAKEN = {
    "must": "minimum",
    "must_not": "contrastive",
    "feature": "relevance",
    "free": "radius",
    "explanation": "audit",
}


@pytest.mark.parametrize("name", TAKEN)
def test_each_takes_numbers_names_and_files(name: str, tmp_path: Path) -> None:
    """Masks were refused as names by some, and numbers as files by others."""
    mask = np.zeros((8, 8), dtype=bool)
    np.save(tmp_path / "mask.npy", mask)
    (tmp_path / "list.json").write_text('[3, "age"]', encoding="utf-8")
    options, network = CallOptions(TAKEN[name]), milp_verix.load_network(MODEL)

    def read(text: str | Path) -> Any:
        values = {row.name: str(text) if row.name == name else None for row in options.rows}
        return options.given(values).own(network)[name]

    assert read("3,age") == read(tmp_path / "list.json") == [3, "age"]
    np.testing.assert_array_equal(read(tmp_path / "mask.npy"), mask)


@pytest.mark.parametrize("given", [["explain", "--epsilon"], ["sweep", "--epsilons"]])
def test_an_archive_of_radii_is_refused_by_what_is_read(given: list[str]) -> None:
    done = run_here(given[0], MODEL, SEVEN, given[1], "radii.npz")
    assert done.returncode == 2
    assert f"{given[1]} is a .npy or .json file, got 'radii.npz'" in done.stderr
