"""The claim of a certificate in words: all of it, or it is refused."""

import hashlib
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support.certificates import certified, changed
from verix_checker.verification import verify
from verix_checker.words import bound_words, words


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
    net = SimpleNamespace(size=2, parts="0 neurons", forms=[{}])
    lines = list(words(asked, net, "read"))
    assert lines[1:3] == [
        "weights in 'weights\\nVERIFIED': SHA-256 cd",
        "2 inputs, 0 neurons",
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
