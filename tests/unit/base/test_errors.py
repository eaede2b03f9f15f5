"""Errors of files and of parsing are told in the words of whoever reads."""

from pathlib import Path

import pytest

from milp_verix.base.errors import InputError, ModelError, refusing
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
