"""Errors of files and of parsing are told in the words of whoever reads."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import milp_verix as mv
from milp_verix.base.errors import InputError, ModelError, listed, refusing
from milp_verix.inputs.input_files import read_numbers


def test_a_file_that_is_missing_is_told_without_its_number(tmp_path: Path) -> None:
    with pytest.raises(InputError) as found, refusing("cannot read it"):
        (tmp_path / "none").read_bytes()
    assert str(found.value) == "cannot read it: No such file or directory"
    assert isinstance(found.value.__cause__, FileNotFoundError)


def test_the_errors_asked_for_become_one_of_a_kind() -> None:
    damage = refusing("it is damaged", ValueError, KeyError, kind=ModelError)
    with pytest.raises(ModelError, match=r"^it is damaged: invalid literal for int"), damage:
        int("x")
    with pytest.raises(KeyError), refusing("it is damaged", ValueError):
        raise KeyError("x")


def test_content_is_told_inside_of_files() -> None:
    file, content = refusing("cannot read it"), refusing("it is no number", ValueError)
    with pytest.raises(InputError, match=r"^it is no number: "), file, content:
        int("x")


def test_a_file_is_named_once(tmp_path: Path) -> None:
    path = tmp_path / "bad.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00garbage")
    with pytest.raises(InputError, match=r"^cannot read .*bad\.npy: it holds no array") as found:
        read_numbers(path, 4)
    assert str(found.value).count("cannot read") == 1


def test_names_are_listed_in_about_a_line() -> None:
    assert listed(["a", "b"]) == "a, b"
    assert listed([f"town {i}" for i in range(300)], 2) == "town 0, town 1, … (300 in all)"
    long = [f"a rather long name of a column, number {i} of the table" for i in range(60)]
    assert listed(long) == f"{', '.join(long[:3])}, … (60 in all)"
    assert listed(["x" * 1000]) == "x" * 60 + "…"


@pytest.mark.parametrize("asked", ["label", "feature", "order", "row", "columns", "costs"])
def test_an_error_about_many_long_names_is_not_cut(asked: str, tmp_path: Path) -> None:
    names = [f"a rather long name of a column, number {i} of the table" for i in range(60)]
    X = pd.DataFrame(np.random.default_rng(0).random((90, 60)), columns=names)
    fitted = DecisionTreeClassifier(random_state=0).fit(X, [names[i % 30] for i in range(90)])
    row = X.iloc[0]
    calls: dict[str, Callable[[], object]] = {
        "label": lambda: mv.explain(fitted, row, epsilon=0.1, label="x" * 3000),
        "feature": lambda: mv.relevance(fitted, row, epsilon=0.1, feature="x" * 3000),
        "order": lambda: mv.explain(fitted, row, epsilon=0.1, order=["none"]),
        "row": lambda: mv.explain(fitted, row.drop(names[0]), epsilon=0.1),
        "columns": lambda: mv.explain_many(
            fitted, X, epsilon=0.1, columns=["none"], journal=tmp_path / "study.jsonl"
        ),
        "costs": lambda: mv.minimum(fitted, row, epsilon=0.1, costs={"none": 1}),
    }
    with pytest.raises(InputError) as refused:
        calls[asked]()
    assert len(str(refused.value)) < 393
