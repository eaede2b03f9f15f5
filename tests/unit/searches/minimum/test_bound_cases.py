"""Stored cases cover every choice of features and phases once, whatever they split."""

from itertools import product

import numpy as np

from milp_verix.searches.minimum.bound_cases import read_cases, stored_cases

NAMES = {0: "0", 1: "1", 2: "0:1:0", 3: "1:0:2"}


def tree(rng: np.random.Generator, depth: int) -> tuple[str, ...]:
    """Return a tree that may split a column twice, and columns that are not there."""
    if depth == 0 or rng.random() < 0.2:
        return ("",)
    name = str(rng.choice([*NAMES.values(), "7:7:7"]))
    return (name, *tree(rng, depth - 1), *tree(rng, depth - 1))


def test_every_choice_is_in_one_leaf() -> None:
    rng = np.random.default_rng(53)
    for _ in range(100):
        check(tree(rng, 5))


def check(cases: tuple[str, ...]) -> None:
    splits, leaves = read_cases(cases, NAMES)
    for choice in product((0.0, 1.0), repeat=len(NAMES)):
        chosen = np.array(choice)
        held = [
            # a column that is split twice is fixed twice: one of its leaves holds nothing
            bool(np.all(chosen[columns] == values))
            for columns, values in leaves.values()
        ]
        assert sum(held) == 1
    # what it wrote, it reads; a split of a column that is not there is gone
    again = stored_cases(splits, NAMES)
    assert read_cases(again, NAMES)[0].keys() == splits.keys()
    assert all(name == "" or name in NAMES.values() for name in again)
    if "7:7:7" not in cases:
        assert again == cases


def test_without_a_tree_nothing_is_split() -> None:
    assert read_cases((), NAMES) == ({}, {})
    splits, leaves = read_cases(("",), NAMES)
    assert splits == {}
    assert [fixed.size for fixed, _ in leaves.values()] == [0]
