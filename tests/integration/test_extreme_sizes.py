"""A time limit is held at any size: features, classes, trees, depth, layers, groups, rows, rivals.

What is timed is the processor's time, so a busy machine does not matter, and with two seconds to
spare beside the limit. The refused ways took five times that at these sizes.
"""

import functools

import pytest

from tests.support.extreme_sizes import LIMIT, QUESTIONS, SIZES, Case, seconds_of

FAST = ("features", "classes")
"""The sizes of the default run: those of arrays that grow with the square."""
SPARE = 2.0
"""Seconds that a question may take beyond its limit."""


@functools.cache
def case_of(size: str) -> Case:
    return SIZES[size]()


def marked(size: str) -> "str | object":
    return size if size in FAST else pytest.param(size, marks=pytest.mark.nightly)


@pytest.mark.parametrize("size", [*map(marked, SIZES)])
def test_every_question_ends_within_its_limit(size: str) -> None:
    taken = {question: seconds_of(case_of(size), question) for question in QUESTIONS}
    late = {question: took for question, took in taken.items() if took > LIMIT + SPARE}
    assert not late
