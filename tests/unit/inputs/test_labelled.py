"""Every argument with an entry for each feature is read by its labels, in whatever order they come.

The same numbers as a list in the order of the features are what the answers are compared with.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

import milp_verix as mv
from milp_verix import InputError, Problem
from milp_verix.inputs.radii import Labels, values_by_label
from milp_verix.searches.feature_sets import feature_set
from milp_verix.views.notice import reasons_of
from tests.support.repository import ROOT

pytest.importorskip("sklearn")

NAMES = ["age", "debt", "income"]
RNG = np.random.default_rng(0)
PEOPLE = pd.DataFrame(RNG.integers(0, 100, (300, 3)), columns=NAMES)
ROW = pd.Series({"age": 90, "debt": 40, "income": 10})
INPUTS = mv.Inputs.from_frame(PEOPLE)


def tree() -> Any:
    """Return a tree for which income and debt decide, and age plays no part."""
    from sklearn.tree import DecisionTreeClassifier

    decision = PEOPLE.income > 30 + 30 * (PEOPLE.debt > 50)
    return DecisionTreeClassifier(max_depth=3, random_state=0).fit(PEOPLE, decision)


PROBLEM = Problem(tree(), ROW, epsilon="inf", inputs=INPUTS)
PLAIN = {"feature_names": NAMES, "epsilon": 30}
ARRAY = PROBLEM.network.as_input([90, 40, 10])
RANGES = Problem(tree(), ROW.replace(10, 45), epsilon="inf", inputs=INPUTS).inflate()
OTHER, INTEGERS = ["income", "age", "debt"], [2, 0, 1]


def shuffled(values: list[Any]) -> list[Any]:
    return [values[place] for place in INTEGERS]


FORMS: dict[str, Callable[[list[Any]], Any]] = {
    "dict": lambda v: dict(zip(OTHER, shuffled(v), strict=True)),
    "series": lambda v: pd.Series(shuffled(v), OTHER),
    "default index": pd.Series,
    "indices": lambda v: pd.Series(shuffled(v), INTEGERS),
    "dict of indices": lambda v: dict(zip(INTEGERS, shuffled(v), strict=True)),
    "frame of a row": lambda v: pd.DataFrame([shuffled(v)], columns=OTHER),
    "frame without names": lambda v: pd.DataFrame([v]),
    "structured": lambda v: np.array(
        [tuple(shuffled(v))], [(name, np.asarray(v).dtype) for name in OTHER]
    ),
}
"""Values of age, debt, income in each form; most have them in another order."""
WRONG = {
    "extra: incone; did you mean 'income'": ["age", "debt", "incone"],
    "missing: debt": ["age", "income"],
    "missing: income": ["age", "debt", "id"],
}

VALUES: dict[str, tuple[Callable[[Any], Any], list[Any]]] = {
    "costs": (lambda v: PROBLEM.minimum(costs=v).costs, [1.0, 2.0, 9.0]),
    "costs of contrasts": (lambda v: PROBLEM.contrastive(costs=v).costs, [1.0, 2.0, 9.0]),
    "beside": (lambda v: PROBLEM.importance(beside=v).misordered, [0.1, 0.2, 0.9]),
    "epsilon": (lambda v: Problem(tree(), ROW, epsilon=v, inputs=INPUTS).radii, [1, 0, 50]),
    "epsilon of at": (lambda v: PROBLEM.at(v).radii, [1, "10%", "inf"]),
    "epsilons": (lambda v: [a.radii for a in PROBLEM.sweep([v, "inf"]).levels], [1.0, 2.0, 3.0]),
    "within": (lambda v: str(PROBLEM.inflate(["debt", "income"], within=v).ranges), [1, 3, 9]),
    "scale": (lambda v: str(PROBLEM.radius(scale=v).brackets), [1.0, 2.0, 9.0]),
    "domain": (
        lambda v: Problem(tree(), ARRAY, domain=(0, v), **PLAIN).ball.domain_upper.tolist(),
        [91.0, 92.0, 93.0],
    ),
    "domain of a row": (
        lambda v: Problem(tree(), ROW, epsilon=3, domain=(v, 99)).ball.domain_lower.tolist(),
        [1.0, 2.0, 3.0],
    ),
    "importance": (lambda v: [a.feature for a in reasons_of(RANGES, v)], [0.2, 0.5, 0.1]),
}
MASKS: dict[str, tuple[Callable[[Any], Any], list[bool]]] = {
    "explanation": (lambda v: PROBLEM.audit(v).explanation, [False, True, True]),
    "explanation of inflate": (lambda v: PROBLEM.inflate(v).explanation, [False, True, True]),
    "must": (lambda v: PROBLEM.minimum(must=v).explanation, [True, False, False]),
    "must_not": (lambda v: PROBLEM.minimum(must_not=v).explanation, [True, False, False]),
    "must_not of contrasts": (
        lambda v: PROBLEM.contrastive(must_not=v).must_not,
        [True, False, False],
    ),
    "free": (lambda v: PROBLEM.check(v).free, [True, False, False]),
    "free of a radius": (lambda v: str(PROBLEM.radius(free=v).brackets), [True, False, True]),
    "free of an export": (
        lambda v: PROBLEM.export(v).program.column_lower.tolist(),
        [False, True, True],
    ),
    "checks of compare": (
        lambda v: [*map(sorted, PROBLEM.compare(solvers=["leaves"], checks=[v]).checks or ())],
        [True, True, False],
    ),
    "feature": (lambda v: PROBLEM.relevance(v).features, [True, True, False]),
    "features held": (lambda v: PROBLEM.holding(v).ball.radii.tolist(), [False, False, True]),  # type: ignore[union-attr]
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("argument", VALUES)
def test_values_go_to_the_features_of_their_labels(argument: str, form: str) -> None:
    answer, values = VALUES[argument]
    expected, moved = answers(argument)
    assert answer(FORMS[form](values)) == expected
    assert moved != expected  # without labels the order tells


@cache
def answers(argument: str) -> tuple[Any, Any]:
    """Return the answers to a list in the order of the features, and in another one."""
    answer, values = VALUES[argument]
    return answer(values), answer(shuffled(values))


@pytest.mark.parametrize("told", WRONG)
@pytest.mark.parametrize("argument", [*VALUES, *MASKS])
def test_labels_that_are_no_features_and_features_without_one_are_refused(
    argument: str, told: str
) -> None:
    answer, values = {**VALUES, **MASKS}[argument]
    given = pd.Series(dict(zip(WRONG[told], values, strict=False)))
    with pytest.raises(
        InputError,
        match=f"(?s){argument.split(' of ', maxsplit=1)[0].split(maxsplit=1)[0]}.*{told}",
    ):
        answer(given)
    with pytest.raises(InputError, match=told):
        answer(pd.DataFrame([given]))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("argument", MASKS)
def test_masks_mark_the_features_of_their_labels(argument: str, form: str) -> None:
    answer, values = MASKS[argument]
    assert answer(FORMS[form](values)) == answer_to_names(argument)


@cache
def answer_to_names(argument: str) -> Any:
    answer, values = MASKS[argument]
    return answer([name for name, chosen in zip(NAMES, values, strict=True) if chosen])


@pytest.mark.parametrize("argument", MASKS)
def test_other_masks_are_read_and_numbers_by_name_are_refused(argument: str) -> None:
    answer, values = MASKS[argument]
    expected = answer_to_names(argument)
    assert answer(np.array(values)) == expected
    assert answer(pd.Series(shuffled(values), OTHER, dtype="boolean")) == expected
    with pytest.raises(InputError, match="True or False for each by name"):
        answer(pd.Series([1, 0, 1], NAMES))
    with pytest.raises(InputError, match="True or False for each by name"):
        answer(dict.fromkeys(NAMES, 0.5))


@pytest.mark.parametrize("argument", MASKS)
def test_an_index_or_a_series_of_names_is_a_list_of_them(argument: str) -> None:
    answer, values = MASKS[argument]
    listed = [name for name, chosen in zip(NAMES, values, strict=True) if chosen]
    expected = answer_to_names(argument)
    places = [NAMES.index(name) for name in listed]
    for given in (
        pd.Index(listed),
        pd.Series(listed),
        pd.Series(listed, [7] * len(listed)),
        pd.Series(listed, ["first", "second"][: len(listed)]),
        {*listed},
        pd.Series(places, [9 - place for place in places]),
    ):
        assert answer(given) == expected


def test_an_order_is_a_list_and_scores_by_name_are_none() -> None:
    expected = PROBLEM.explain(order=OTHER).permutation
    assert expected == (2, 0, 1)
    for order in (pd.Index(OTHER), pd.Series(OTHER), pd.Series(OTHER, NAMES), pd.Series(INTEGERS)):
        assert PROBLEM.explain(order=order).permutation == expected
    for scores in (pd.Series([2, 0, 1], NAMES), pd.Series([0.1, 0.2, 0.3], NAMES), {"age": 2}):
        with pytest.raises(InputError, match="order"):
            PROBLEM.explain(order=scores)


def test_costs_by_name_are_complete_or_tell_those_of_the_others() -> None:
    assert PROBLEM.minimum(costs={2: 9, "*": 3}).costs == (3.0, 3.0, 9.0)
    assert PROBLEM.contrastive(costs=pd.Series({"age": 9, "*": 1})).costs == (9.0, 1.0, 1.0)
    for ask in (PROBLEM.minimum, PROBLEM.contrastive):
        for given in ({"income": 9}, {2: 9}, pd.Series({"income": 9})):
            with pytest.raises(
                InputError, match=r"^costs .*; missing: age, debt: name them, or add '\*': 1$"
            ):
                ask(costs=given)  # type: ignore[operator]
    with pytest.raises(InputError, match="two labels are of one feature"):
        PROBLEM.minimum(costs={"income": 9, 2: 3, "*": 1})
    many = Problem(ROOT / "examples/digits.onnx", np.zeros((8, 8), np.float32), epsilon=0.01)
    with pytest.raises(InputError, match=r"missing: 0, 1, 2, 4, 5, … \(63 in all\): name them"):
        many.minimum(costs={3: 2})
    with pytest.raises(InputError, match=r"costs: two values .* one name: age, debt, income, age"):
        PROBLEM.minimum(costs=pd.Series([1, 2, 3, 4], [*NAMES, "age"]))


@pytest.mark.parametrize("form", [pd.Series, lambda values: dict(enumerate(values))])
@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("1 0 5", None),
        ("3 1 2", None),
        ("2 0 1", [9.0, 7.0, 8.0]),
        ("10 20 30", [7.0, 8.0, 9.0]),
        ("age debt income", [7.0, 8.0, 9.0]),
    ],
)
def test_numbers_are_names_or_indices_and_never_some_of_each(
    names: str, expected: list[float] | None, form: Callable[[list[float]], Any]
) -> None:
    labels, given = Labels(names.split(), 3), form([7.0, 8.0, 9.0])
    if expected is not None:
        assert [*values_by_label(given, labels, "costs")] == expected
        return
    with pytest.raises(InputError, match=r"costs by name has a value for each feature.*missing"):
        values_by_label(given, labels, "costs")


def test_a_number_that_is_no_name_is_no_index_among_numbers_as_names() -> None:
    labels = Labels(["3", "1", "2"], 3)
    assert values_by_label({1: 5.0, "*": 0.0}, labels, "costs") == [0.0, 5.0, 0.0]
    with pytest.raises(InputError, match=r"costs by name .*'\*' for the others; extra: 0"):
        values_by_label({0: 5.0, "*": 0.0}, labels, "costs")


def test_radii_by_name_are_one_radius_of_a_sweep() -> None:
    radii = pd.Series([1.0, 2.0, 3.0], OTHER)
    assert PROBLEM.sweep([radii]).levels[0].radii == (2.0, 3.0, 1.0)
    for alone in (radii, radii.to_dict()):
        assert PROBLEM.sweep(alone).same_answer(PROBLEM.sweep([radii]))
    assert len(PROBLEM.sweep(pd.Series([1.0, 2.0])).levels) == 2


def test_directions_and_names_come_from_pandas_too() -> None:
    described = INPUTS.only(pd.Series({"income": "up"}))
    assert described == INPUTS.only({"income": "up"})
    for names in (PEOPLE.columns, pd.Series(NAMES), pd.Series(NAMES, OTHER), np.array(NAMES)):
        found = Problem(tree(), ARRAY, epsilon=1, domain=(0, 99), feature_names=names)
        assert found.features.names == tuple(NAMES)
    for argument in ("fixed", "missing", "one_hot"):
        with pytest.raises(InputError, match=f"{argument} is a list of names"):
            mv.Inputs.from_frame(PEOPLE, **{argument: {"age": False}})


def test_labels_where_features_have_no_names_are_refused() -> None:
    nameless = mv.load_network(tree_of_arrays())
    problem = Problem(nameless, [90, 40, 10], epsilon=5, domain=(0, 99))
    for call in (
        partial(problem.minimum, costs=pd.Series([1, 2, 9], NAMES)),
        partial(problem.importance, beside=pd.Series([1, 2, 9], NAMES)),
        partial(problem.audit, pd.Series([True, False, True], NAMES)),
        partial(Problem, nameless, [90, 40, 10], epsilon=5, domain=(pd.Series(0, NAMES), 99)),
    ):
        with pytest.raises(InputError, match=r"labels .*no names: give a list in the order of the"):
            call()
    assert problem.minimum(costs=pd.Series([9, 1, 2], INTEGERS)).costs == (1.0, 2.0, 9.0)
    named = Problem(nameless, [90, 40, 10], domain=(0, 99), **PLAIN)
    assert named.minimum(costs=pd.Series([9, 1, 2], OTHER)).costs == (1.0, 2.0, 9.0)


def tree_of_arrays() -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(max_depth=3).fit(PEOPLE.to_numpy(), PEOPLE.income > 30)


def test_a_domain_is_a_pair_or_a_frame_of_two_rows() -> None:
    expected = Problem(tree(), ARRAY, epsilon=1, domain=(PEOPLE.min(), PEOPLE.max())).ball
    found = Problem(tree(), ARRAY, epsilon=1, domain=PEOPLE[OTHER].agg(["min", "max"])).ball
    np.testing.assert_array_equal(found.domain_lower, expected.domain_lower)
    np.testing.assert_array_equal(found.domain_upper, PEOPLE.max())
    for wrong in ({0: 0, 1: 99}, PEOPLE, pd.DataFrame({0: [0], 1: [1]})):
        with pytest.raises(InputError, match=r"the domain is a pair \(lower, upper\)"):
            Problem(tree(), ARRAY, epsilon=1, domain=wrong)  # type: ignore[arg-type]


def test_scores_and_masks_may_name_the_coordinates_of_a_block() -> None:
    from sklearn.tree import DecisionTreeClassifier

    words = pd.DataFrame({"age": PEOPLE.age, "sex": np.where(PEOPLE.debt > 50, "f", "m")})
    dummies = pd.get_dummies(words).astype(float)
    fitted = DecisionTreeClassifier(max_depth=3, random_state=0).fit(dummies, words.sex == "f")
    inputs = mv.Inputs.from_frame(words, one_hot=["sex"])
    problem = Problem(fitted, words.iloc[0], epsilon="inf", inputs=inputs)
    scores = pd.Series({"sex_m": 0.1, "age": 5.0, "sex_f": 0.2})
    assert problem.importance(beside=scores).beside == pytest.approx((5.0, 0.3))
    assert feature_set(scores < 1, problem) == (1,)
    with pytest.raises(InputError, match="covers 1 of the 2 coordinates of feature 1"):
        feature_set(scores < 0.15, problem)


def test_scores_and_masks_may_name_coordinates_as_lightgbm_does() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    words = pd.DataFrame({"age": PEOPLE.age, "my sex": np.where(PEOPLE.debt > 50, "f", "m")})
    dummies = pd.get_dummies(words).astype(float)
    fitted = lightgbm.LGBMClassifier(n_estimators=2, verbose=-1).fit(dummies, words["my sex"])
    inputs = mv.Inputs.from_frame(words, one_hot=["my sex"])
    problem = Problem(fitted, words.iloc[0], epsilon="inf", inputs=inputs)
    scores = pd.Series({"my sex_m": 0.1, "age": 5.0, "my sex_f": 0.2})
    assert problem.importance(beside=scores).beside == pytest.approx((5.0, 0.3))
    assert feature_set(scores < 1, problem) == (1,)


def test_an_explanation_of_features_in_another_order_is_read_by_name() -> None:
    found = mv.explain(tree_of_arrays(), ROW.tolist(), domain=(0, 99), **PLAIN)
    assert found.explanation == (2,)
    other = Problem(
        tree_of_arrays(), ROW[OTHER].tolist(), epsilon=5, domain=(0, 99), feature_names=OTHER
    )
    assert feature_set(found, other) == (0,)
