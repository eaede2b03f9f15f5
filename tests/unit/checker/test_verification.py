"""The checker takes certificates alone, and names the first failure."""

import json
from pathlib import Path

import pytest

from tests.support.certificates import certified, changed
from verix_checker.command import main
from verix_checker.verification import verify

_LEAF = {"slopes": {}, "multipliers": {"0": -1}}
_NEGATIVE = {"neuron": 0, "below": _LEAF, "above": _LEAF}


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        (("claim", "sha256"), "0" * 64, "another network"),
        (("claim", "epsilon"), 10, "a case proves no more than"),
        (("claim", "epsilon"), -1, "not in the ball"),
        (("trees", 0), {"slopes": {}, "multipliers": {"0": 1}}, "not split"),
        (("trees", 0), {"slopes": {"0": 1.5}, "multipliers": {}}, "not in [0, 1]"),
        (("trees", 0), {"slopes": {"0": -0.5}, "multipliers": {}}, "not in [0, 1]"),
        (("trees", 0), _NEGATIVE, "a multiplier is negative"),
        (("points",), {}, "a feature has no point"),
        (("points", "0"), {}, "the same prediction"),
        (("claim", "class"), -1, "claim: class: -1 is less than zero"),
        (("claim", "class"), 3, "no such class"),
    ],
)
def test_the_first_failure_is_named(
    path: tuple[object, ...],
    value: object,
    reason: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, _, data = certified(1, tmp_path)
    if path == ("points", "0"):
        path = ("points", next(iter(data["points"])))
    proof = tmp_path / "proof.json"
    proof.write_text(json.dumps(changed(data, path, value)), encoding="utf-8")
    assert main([str(tmp_path / "model.onnx"), str(proof)]) == 1
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("REFUSED")
    assert reason in last


@pytest.mark.parametrize("name", ["0{}", " {}", "+{}", "-{}", "{}.0", "٣", ""])
def test_features_are_named_in_one_way(name: str, tmp_path: Path) -> None:
    _, model, data = certified(1, tmp_path)
    first = next(iter(data["points"]))
    points = data["points"] | {name.format(first): data["points"][first]}
    with pytest.raises(ValueError, match="names nothing"):
        list(verify(model, data | {"points": points}))
