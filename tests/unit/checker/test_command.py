"""Whatever the files hold, the command ends in an exit code."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from tests.support.certificates import certified
from verix_checker.command import main


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "1", '{"claim": 1}', '{"claim": {}, "trees": [], "points": {}}', "NaN",
     '{"claim": {"sha256": 1}, "trees": 1, "points": 1}', "[" * 100_000, '"\\ud800"', "\x00"],
)  # fmt: skip
def test_malformed_json_is_refused(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "model.onnx").write_bytes(b"")
    (tmp_path / "proof.json").write_text(text, encoding="utf-8")
    assert main([str(tmp_path / "model.onnx"), str(tmp_path / "proof.json")]) == 1
    assert capsys.readouterr().out.startswith("REFUSED")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a network and its certificate."""
    path = tmp_path_factory.mktemp("certified")
    _, _, proof = certified(1, path)
    (path / "proof.json").write_text(json.dumps(proof), encoding="utf-8")
    return path


def test_help_says_what_the_exit_codes_mean(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=r"^0$"):
        main(["--help"])
    assert "Exit code 0: the claim is proven." in capsys.readouterr().out


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_damaged_certificates_end_in_an_exit_code(folder: Path, data: st.DataObject) -> None:
    content = bytearray((folder / "proof.json").read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] = data.draw(st.sampled_from(b'0123456789{}[]",:.-tfn '))
    damaged = folder / "damaged.json"
    damaged.write_bytes(content)
    assert main([str(folder / "model.onnx"), str(damaged)]) in (0, 1)
