"""Lower bounds that say nothing."""

from pathlib import Path

import pytest

from tests.support.certificates import certified
from verix_checker.verification import verify


def test_bounds_that_say_nothing_are_refused_or_named(tmp_path: Path) -> None:
    _, model, data = certified(1, tmp_path)
    proof = {"scenarios": [], "step": 1, "tree": {}}

    def last(asked: dict[str, object]) -> str:
        claim = data["claim"] | {"minimum": asked}
        return list(verify(model, data | {"claim": claim, "minimum": proof}))[-2]

    with pytest.raises(ValueError, match="must and must_not name"):
        last({"bound": 1000, "must": [0], "must_not": [0]})
    with pytest.raises(KeyError, match="weights"):  # a tree without a leaf
        last({"bound": 2, "must": [0]})
    with pytest.raises(ValueError, match="claim: minimum: no field is called 'mist'"):
        last({"bound": 2, "mist": [0, 1]})
    told = "no explanation costs less than 2: the features that must be in cost as much; "
    assert last({"bound": 2, "must": [0, 1]}) == told + "costs: 1 each, must: [0, 1], must_not: []"
