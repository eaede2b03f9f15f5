"""Limits of time and memory are held at any size: features, classes, trees, depth, layers, groups.

So are they with many rows and rivals, and with described inputs of many features, blocks and rules.
What is timed is the processor's time, so a busy machine does not matter, and with two seconds to
spare beside the limit. The refused ways took five times that at these sizes.
"""

import functools
import sys
import time
import tracemalloc

import numpy as np
import pytest

import milp_verix
from milp_verix.base.clock import resident
from tests.support.extreme_sizes import (
    LIMIT,
    QUESTIONS,
    SIZES,
    Case,
    excess_of,
    of_network,
    seconds_of,
)

FAST = ("features", "classes")
"""The sizes of the default run: those of arrays that grow with the square."""
FAST_EXPLAINED = ("described", "rules", "missing", "columns", "columns of trees", "many layers")
"""Sizes of the default run at one question: described ones, and a model that is read in its limit.

The map of 20,000 columns took 6.5 GB, and half a minute, as two whole matrices; a box for each of
20,000 features of trees took 13 GB, and 32 s. Each of 1,500 layers looked at all others, for 11 s.
"""
SPARE = 2.0
"""Seconds that a question may take beyond its limit."""
MORE, BATCH = 50_000_000, 250_000_000
"""Bytes that a question may add to what is held, and those of one batch of work beyond these."""


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


@pytest.mark.parametrize("size", FAST_EXPLAINED)
def test_an_explanation_ends_within_its_limit(size: str) -> None:
    assert seconds_of(case_of(size), "explain") <= LIMIT + SPARE


@pytest.mark.skipif(sys.platform != "linux", reason="a limit of memory needs /proc")
@pytest.mark.parametrize("question", ["explain", "contrastive"])
def test_memory_is_limited(question: str) -> None:
    assert excess_of(case_of("features"), question, MORE) <= BATCH


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform != "linux", reason="a limit of memory needs /proc")
@pytest.mark.parametrize("more", [0, MORE])
@pytest.mark.parametrize("size", SIZES)
def test_memory_is_limited_for_every_question(size: str, more: int) -> None:
    questions = [question for question in QUESTIONS if question != "rules"]  # it takes no memory
    beyond = {question: excess_of(case_of(size), question, more) for question in questions}
    assert not {question: excess for question, excess in beyond.items() if excess > BATCH}


@pytest.mark.skipif(sys.platform != "linux", reason="a limit of memory needs /proc")
def test_margins_of_many_classes_take_no_square_of_them() -> None:
    """A matrix of all classes by all classes took 0.8 GB, several times, and seconds."""
    case = of_network(10, 20, 8000)
    before = resident()
    margins = milp_verix.Problem(case.model, case.x, epsilon=0.02).margins
    assert margins.output_size == 7999
    assert excess_of(case, "explain", MORE) <= BATCH
    assert resident() - before < BATCH


@pytest.mark.skipif(sys.platform != "linux", reason="a limit of memory needs /proc")
def test_checks_of_many_features_take_no_square_of_them() -> None:
    """The checks of 20,000 features took 1.6 GB, and seconds beyond the limit."""
    case = case_of("features")
    robust = {**case.asked, "epsilon": 1e-9}  # so all features are free in the last check
    before = resident()
    began = time.process_time()
    found = milp_verix.compare(case.model, case.x, solvers=["phase"], time_limit=LIMIT, **robust)
    assert time.process_time() - began <= LIMIT + SPARE
    assert resident() - before < BATCH
    assert found.checks is not None
    assert found.stopped == "time limit"
    assert not found.complete


@pytest.mark.parametrize("trees", [False, True])
def test_a_column_of_many_words_takes_no_square_of_them(trees: bool) -> None:
    """Postcodes of 4,000 places took 0.5 GB; 12,000 took 3.5 GB, and 7 s."""
    import pandas as pd
    from sklearn.linear_model import RidgeClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder
    from sklearn.tree import DecisionTreeClassifier

    table = pd.DataFrame({"place": [f"p{n}" for n in range(4000)], "other": ["a", "b"] * 2000})
    last = DecisionTreeClassifier(max_depth=5) if trees else RidgeClassifier()
    pipeline = make_pipeline(OneHotEncoder(), last).fit(table, np.arange(4000) % 3 > 0)
    tracemalloc.start()
    network = milp_verix.load_network(pipeline)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < BATCH
    assert network.input_size == 4001
