"""Certificates with numbers, names or nesting that have no end are refused."""

from pathlib import Path

import pytest

from tests.support.certificates import certified, changed
from verix_checker import numbers
from verix_checker.command import main
from verix_checker.verification import verify


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"claim": {}, "notes": 1e20000000}', "exponent is too long"),
        ('{"claim": {}, "notes": 1e-20000000}', "exponent is too long"),
        ('{"claim": {}, "notes": ' + "9" * 4001 + "}", "more than 4000 characters"),
        ('{"claim": {}, "notes": 0.' + "9" * 4001 + "}", "more than 4000 characters"),
        ('{"claim": {}, "claim": {}}', "comes twice"),
        ('{"claim": {"epsilon": 1, "delta": 1, "epsilon": 2}}', "comes twice"),
        ('{"claim": {}, "notes": NaN}', "NaN is no number"),
        ('{"claim": {}, "notes": -Infinity}', "-Infinity is no number"),
        ('{"claim": {}, "notes": ' + "[" * 501 + "]" * 501 + "}", "more than 500 deep"),
        ('{"claim": {}, "notes": ' + "[" * 10**6 + "]" * 10**6 + "}", "more than 500 deep"),
        ('{"claim": {"beside": {"../weights": 1}}}', "weights in another folder"),
        ('{"claim": {"beside": {"/dev/zero": 1}}}', "weights in another folder"),
    ],
)
def test_numbers_and_files_without_end_are_refused(
    text: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "model.onnx").write_bytes(b"")
    (tmp_path / "proof.json").write_text(text, encoding="utf-8")
    assert main([str(tmp_path / "model.onnx"), str(tmp_path / "proof.json")]) == 1
    said = capsys.readouterr().out
    assert said.startswith("REFUSED")
    assert reason in said


def test_a_certificate_that_is_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(numbers, "BYTES", 100)
    (tmp_path / "model.onnx").write_bytes(b"")
    (tmp_path / "proof.json").write_text('{"claim": "%s"}' % ("x" * 100), encoding="utf-8")
    assert main([str(tmp_path / "model.onnx"), str(tmp_path / "proof.json")]) == 2
    assert "larger than 100 bytes" in capsys.readouterr().out
    assert main([str(tmp_path / "model.onnx"), "/dev/zero"]) == 2


@pytest.mark.parametrize(
    "number",
    ["1e99999999", "1/" + "3" * 4000, " 1/2", "1_0", "0x1", "٣", "inf", "1//2", True, None],
)
@pytest.mark.parametrize("path", [("epsilon",), ("input", 0), ("domain", 0, 0)])
def test_numbers_that_are_texts_have_the_same_limits(
    number: object, path: tuple[object, ...], tmp_path: Path
) -> None:
    _, model, data = certified(1, tmp_path)
    data["claim"]["domain"] = [[0] * 5, [1] * 5]
    assert list(verify(model, data))[-1].startswith("VERIFIED")
    if (number, path[0]) == (None, "domain"):
        return  # an end that is unlimited
    with pytest.raises(ValueError, match=r"is no number|characters"):
        list(verify(model, changed(data, ("claim", *path), number)))
