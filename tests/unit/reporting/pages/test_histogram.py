import numpy as np
import pytest

from milp_verix.reporting.pages.histogram import histogram
from tests.support.pages import Element, parsed


def bars(page: Element, kind: str) -> dict[str, int]:
    """Return for each bar its range and its count, as its title tells them."""
    found = [one for one in page.all("rect") if one.attributes["class"] == kind]
    return {one.words.split(": ")[0]: int(one.words.split(": ")[1]) for one in found}


@pytest.mark.parametrize("logarithmic", [False, True])
def test_every_value_is_in_a_bar(logarithmic: bool) -> None:
    values = np.random.default_rng(1).uniform(0.1, 9.0, 200).tolist()
    made = histogram(values, [], "seconds", (0.1, 9.0), logarithmic=logarithmic)
    assert sum(bars(parsed(made), "done").values()) == 200


def test_heights_are_counts() -> None:
    page = parsed(histogram([1, 1, 1, 2], [2, 3], "size", (1, 3), whole=True))
    heights = {
        (one.attributes["class"], one.words.split(" to ")[0]): float(str(one.attributes["height"]))
        for one in page.all("rect")
    }
    unit = heights["done", "0.5"] / 3
    assert heights == pytest.approx(
        {
            ("done", "0.5"): 3 * unit,
            ("done", "1.5"): unit,
            ("undecided", "1.5"): unit,
            ("undecided", "2.5"): unit,
        },
        abs=0.01,
    )


def test_the_label_tells_count_median_and_ends() -> None:
    page = parsed(histogram([4, 8], [15], "size, in features", (0, 20), whole=True))
    told = page.all("svg")[0].attributes["aria-label"]
    assert told == "size, in features of 3 tasks: median 8, from 4 to 15"


@pytest.mark.parametrize("whole", [False, True])
def test_equal_values_are_one_bar(whole: bool) -> None:
    page = parsed(histogram([5.0] * 4, [], "size", (5, 5), whole=whole))
    assert list(bars(page, "done").values()) == [4]
