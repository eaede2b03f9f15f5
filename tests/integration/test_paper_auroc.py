import numpy as np
import pytest

from benchmarks.paper.auroc import auroc, roc


def by_pairs(positive: list[int], negative: list[int]) -> float:
    wins = [(a > b) + (a == b) / 2 for a in positive for b in negative]
    return sum(wins) / len(wins)


@pytest.mark.parametrize("seed", range(20))
def test_the_area_counts_pairs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    positive = rng.integers(0, 8, rng.integers(1, 12)).tolist()
    negative = rng.integers(0, 6, rng.integers(1, 12)).tolist()
    assert auroc(positive, negative) == pytest.approx(by_pairs(positive, negative), abs=1e-12)
    false, true = roc(positive, negative)
    assert np.trapezoid(true, false) == pytest.approx(auroc(positive, negative), abs=1e-12)


def test_an_empty_kind_has_no_area() -> None:
    with pytest.raises(ValueError, match="score"):
        auroc([], [1])
