import numpy as np
import pytest

from milp_verix.views.rendering import Histogram, histogram


def ranges(found: Histogram) -> dict[str, int]:
    """Return for each bar its range and its count, as its words tell them."""
    return {name: int(count) for name, count in (one.text.split(": ") for one in found.bins)}


def test_every_value_is_in_a_bar() -> None:
    values = np.random.default_rng(1).uniform(0.1, 9.0, 200).tolist()
    made = histogram(values, [], "seconds", (0.1, 9.0), logarithmic=True)
    assert sum(ranges(made).values()) == 200


def test_heights_are_counts() -> None:
    made = histogram([1, 1, 1, 2], [2, 3], "size", (1, 3))
    third = 100 / 3
    assert [(one.done, one.undecided) for one in made.bins] == [
        pytest.approx(pair) for pair in ((100, 0), (third, third), (0, third))
    ]
    assert ranges(made) == {"0.5 to 1.5": 3, "1.5 to 2.5": 2, "2.5 to 3.5": 1}


def test_the_median_and_the_ticks_stand_where_the_axis_has_them() -> None:
    made = histogram([1.0, 10.0, 100.0], [], "seconds", (1, 100), logarithmic=True)
    assert made.median == pytest.approx(50)
    assert made.ticks == [("1", 0), ("10", pytest.approx(50)), ("100", 100)]
    assert histogram([0, 3], [], "size", (0, 3)).ticks == [("0", 12.5), ("2", 62.5), ("3", 87.5)]


def test_the_words_tell_count_median_and_ends() -> None:
    made = histogram([4, 8], [15], "size, in features", (0, 20))
    assert made.text == "size, in features of 3 tasks: median 8, from 4 to 15"


def test_equal_values_are_one_bar() -> None:
    assert list(ranges(histogram([5.0] * 4, [], "size", (5, 5))).values()) == [4]
