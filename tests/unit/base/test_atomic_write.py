import stat
from pathlib import Path

import pytest

from milp_verix import InputError
from milp_verix.base.files import replacing, write_atomically


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o755])
def test_a_file_that_is_written_again_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "result.json"
    path.write_text("old")
    path.chmod(mode)
    with replacing(path) as target:
        # nobody reads a part of a secret while it is written
        assert stat.S_IMODE(target.stat().st_mode) == 0o600
        target.write_text("new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert [*tmp_path.iterdir()] == [path]


def test_a_new_file_has_the_mode_that_the_user_asks_of_new_files(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("")
    write_atomically(tmp_path / "result.json", "new")
    modes = {path.stat().st_mode for path in tmp_path.iterdir()}
    assert len(modes) == 1


@pytest.mark.parametrize(
    "name", ["a" * 245, "é" * 120 + ".json", "a" * 251 + ".png", "a." + "b" * 253]
)
def test_a_name_may_be_as_long_as_names_may_be(tmp_path: Path, name: str) -> None:
    write_atomically(tmp_path / name, "new")
    assert [*tmp_path.iterdir()] == [tmp_path / name]
    write_atomically(tmp_path / name, "newer")
    assert (tmp_path / name).read_text() == "newer"
    with pytest.raises(InputError, match="name too long"):
        write_atomically(tmp_path / ("b" * 256), "new")
