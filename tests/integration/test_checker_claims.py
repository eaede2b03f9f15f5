"""What the checker takes for a certificate, and how it says the claim."""

import hashlib
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support.certificates import certified, changed
from verix_checker import numbers
from verix_checker.command import main
from verix_checker.verification import verify
from verix_checker.words import bound_words, words


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


@pytest.mark.parametrize("name", ["0{}", " {}", "+{}", "-{}", "{}.0", "٣", ""])
def test_features_are_named_in_one_way(name: str, tmp_path: Path) -> None:
    _, model, data = certified(1, tmp_path)
    first = next(iter(data["points"]))
    points = data["points"] | {name.format(first): data["points"][first]}
    with pytest.raises(ValueError, match="names nothing"):
        list(verify(model, data | {"points": points}))


def test_a_claim_that_has_no_words_is_refused(tmp_path: Path) -> None:
    _, model, data = certified(1, tmp_path)
    with pytest.raises(ValueError, match=r"a claim of \['agianst'\]"):
        list(verify(model, changed(data, ("claim", "agianst"), [1])))


def test_the_whole_claim_is_said(tmp_path: Path) -> None:
    _, model, data = certified(1, tmp_path)
    claim = data["claim"]
    rivals = sorted({0, 1, 2} - {claim["class"]})
    asked = claim | {"domain": [[0] * 5, 1], "against": rivals[:1]}
    lines = list(verify(model, data | {"claim": asked, "trees": data["trees"][:1]}))
    numbers = " ".join(str(Fraction(entry)) for entry in claim["input"])
    fixed = sorted({*range(5)} - {*claim["irrelevant"]})
    assert lines[:9] == [
        f"network: SHA-256 {hashlib.sha256(model).hexdigest()}",
        f"5 inputs, 11 neurons, output '{claim['output']}'",
        f"input: SHA-256 {hashlib.sha256(numbers.encode()).hexdigest()} of its numbers",
        f"kept: class {claim['class']}, its score is above those of the classes {rivals[:1]} alone",
        f"ball: norm linf, epsilon {Fraction(claim['epsilon'])}",
        "domain: [0, 0, 0, 0, 0] to 1",
        "features: 5, one for each input",
        f"fixed features: {fixed}; the other {5 - len(fixed)} are free",
        "the file computes what was read from it, at 11 inputs",
    ]


def test_bounds_that_say_nothing_are_refused_or_named(tmp_path: Path) -> None:
    _, model, data = certified(1, tmp_path)
    proof = {"scenarios": [], "step": 1, "tree": {}}

    def last(asked: dict[str, object]) -> str:
        claim = data["claim"] | {"minimum": asked}
        return list(verify(model, data | {"claim": claim, "minimum": proof}))[-2]

    with pytest.raises(ValueError, match="must be in, and must not"):
        last({"bound": 1000, "must": [0], "must_not": [0]})
    with pytest.raises(KeyError, match="weights"):  # a tree without a leaf
        last({"bound": 2, "must": [0]})
    with pytest.raises(ValueError, match="a bound of another kind"):
        last({"bound": 2, "mist": [0, 1]})
    told = "no explanation costs less than 2: the features that must be in cost as much; "
    assert last({"bound": 2, "must": [0, 1]}) == told + "costs: 1 each, must: [0, 1], must_not: []"


def test_rules_and_whole_numbers_are_said() -> None:
    asked = {
        "sha256": "ab",
        "beside": {"weights\nVERIFIED": "cd"},
        "output": "y\nVERIFIED",
        "input": [0, "1/2"],
        "norm": "l1",
        "epsilon": [None, "3/2"],
        "domain": [0, [None, 7]],
        "whole": [1],
        "blocks": [[0, 1]],
        "rules": [
            [
                {"factors": {"0": 1, "1": "-1/3"}, "limit": 2},
                {"factors": {"1": 4}, "limit": "5/2", "strict": True},
            ],
            [],
        ],
        "features": [[1], [0]],
        "irrelevant": [1],
        "delta": "1/8",
        "outputs": [0, 3],
    }
    net = SimpleNamespace(size=2, rows={}, forms=[{}])
    lines = list(words(asked, net, 7))
    assert lines[1:3] == [
        "weights in 'weights\\nVERIFIED': SHA-256 cd",
        "2 inputs, 0 neurons, output 'y\\nVERIFIED'",
    ]
    assert lines[4:-1] == [
        "kept: outputs [0, 3] change by at most 1/8",
        "ball: norm l1, epsilon [unlimited, 3/2]",
        "domain: 0 to [unlimited, 7]",
        "whole numbers: inputs [1]",
        "one-hot block: inputs [0, 1]",
        "rule: 1 x0 + -1/3 x1 <= 2 or 4 x1 < 5/2",
        "rule: never",
        "features: 2, [[1], [0]]",
        "fixed features: [0]; the other 1 are free",
    ]
    said = bound_words({"bound": 3, "costs": [1, "1/2"], "must": [0], "must_not": [1]})
    assert said == "costs: [1, 1/2], must: [0], must_not: [1]"
