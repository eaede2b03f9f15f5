"""The claim of a certificate in words: all of it, or it is refused."""

import hashlib
import json
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from milp_verix.results.base import array_hash
from tests.support.certificates import certified, changed
from tests.support.hand_made import about, explained, network
from tests.support.onnx_models import FLOAT, build, node
from verix_checker.command import main
from verix_checker.verification import verify
from verix_checker.words import bound_words, words


def test_a_claim_that_has_no_words_is_refused(tmp_path: Path) -> None:
    _, model, data = certified(1, tmp_path)
    with pytest.raises(ValueError, match="claim: no field is called 'agianst'"):
        list(verify(model, changed(data, ("claim", "agianst"), [1])))


def test_the_whole_claim_is_said(tmp_path: Path) -> None:
    _, model, data = certified(1, tmp_path)
    claim = data["claim"]
    rivals = sorted({0, 1, 2} - {claim["class"]})
    asked = claim | {"domain": [[0] * 5, 1], "against": rivals[:1]}
    lines = list(verify(model, data | {"claim": asked, "trees": data["trees"][:1]}))
    numbers = np.array([float(Fraction(one)) for one in claim["input"]], np.float32)
    fixed = sorted({*range(5)} - {*claim["irrelevant"]})
    assert lines[:10] == [
        f"network: SHA-256 {hashlib.sha256(model).hexdigest()}",
        f"5 inputs, 11 neurons, output '{claim['output']}'",
        f"input: SHA-256 {array_hash(numbers)}",
        f"kept: class {claim['class']}, its score is above those of the classes {rivals[:1]} alone",
        "ties: equal scores neither keep a class nor change it",
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
        "input": [0, Fraction(1, 2)],
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
    net = SimpleNamespace(size=2, parts="0 neurons", forms=[{}], real="f")
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
        "fixed features: [0]; the other one is free",
    ]
    said = bound_words({"bound": 3, "costs": [1, "1/2"], "must": [0], "must_not": [1]}, "verified")
    told = "no explanation costs less than 3: verified; costs: [1, 1/2], must: [0], must_not: [1]"
    assert said == told


@pytest.mark.parametrize(
    ("count", "ties", "kept", "rule"),
    [
        (1, None, "the only score is above zero", "equal scores neither keep a class nor"),
        (1, "lower", "the only score is above zero", "a score of zero is class 0"),
        (1, "upper", "the only score is at least zero", "a score of zero is class 1"),
        (3, None, "its score is above those of all others", "equal scores neither keep"),
        (
            3,
            "first",
            "its score is above those of all others, or equal to those of later ones",
            "of equal scores the first one wins",
        ),
    ],
)
def test_ties_are_said(count: int, ties: str | None, kept: str, rule: str) -> None:
    asked = {"sha256": "ab", "input": [], "class": 1, "norm": "linf", "epsilon": 1}
    asked |= {"domain": [0, 1], "features": [], "irrelevant": []}
    net = SimpleNamespace(
        size=0, parts="trees", forms=[{}] * count, ties=ties, ordered=False, real="d"
    )
    lines = [*words(asked, net, "read")]
    assert lines[3] == f"kept: class 1, {kept}"
    assert lines[4].startswith(f"ties: {rule}")


@pytest.mark.parametrize(("output", "limit"), [("z", "zero"), ("y", "1/2")])
def test_a_score_behind_a_sigmoid_is_told_by_what_the_output_is(output: str, limit: str) -> None:
    nodes = [node("Gemm", ["x", "A", "b"], ["z"]), node("Sigmoid", ["z"], ["y"])]
    factors = {"A": np.array([[1.0]]), "b": np.array([-5.0])}
    made = build(nodes, inputs={"x": [1, 1]}, outputs=[output], constants=factors, elem=FLOAT)
    claim = {"output": output, "input": [0], "irrelevant": [0], "bits": 32}
    leaf: dict[str, Any] = {"slopes": {}, "multipliers": {}}
    lines = list(verify(*about(made.SerializeToString(), claim, trees=[leaf])))
    assert f"kept: class 0, the only score is below {limit}" in lines


def test_a_file_that_holds_no_weights_is_not_told_as_weights() -> None:
    made, data = network()
    name, content = "README.md", b"no weights"
    data["claim"]["beside"] = {name: hashlib.sha256(content).hexdigest()}
    with pytest.raises(ValueError, match="holds no weights of it"):
        list(verify(made, data, {name: content}))


def test_numbers_are_told_as_they_were_read() -> None:
    # a float of Python is the number that it stores; the claim is proven and told with it
    made, data = explained()
    data["claim"]["minimum"] = {"bound": 0.1, "costs": [0.1, 1, 1, 1]}
    bound = Fraction(0.1)
    data["minimum"]["tree"]["weights"] = {"0": bound.numerator}
    told = (
        f"no explanation costs less than {bound}: verified; cases: 1, changes: 4; costs: [{bound}"
    )
    assert any(line.startswith(told) for line in verify(made, data))


def test_no_text_of_a_certificate_writes_escapes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made, data = explained()
    data["claim"]["source"] = "\x1b[2J\nVERIFIED: all"
    (tmp_path / "trees.json").write_bytes(made)
    for proof in (data, {**data, "\x1b[1A": 1}, {**data, "points": {"\x9b\u202e": {}}}):
        (tmp_path / "proof.json").write_text(json.dumps(proof), encoding="utf-8")
        main([str(tmp_path / "trees.json"), str(tmp_path / "proof.json")])
        told = capsys.readouterr().out
        assert all(line.isprintable() for line in told.splitlines())
        assert told.isascii()
