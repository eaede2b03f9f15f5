"""A row of a table in each of its forms is an input of every function, with a description or not.

The predictions of scikit-learn itself are what the network's scores are compared with.
"""

import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pandas as pd
import pytest

import milp_verix as mv
from milp_verix import InputError, Problem

pytest.importorskip("skl2onnx")

RNG = np.random.default_rng(7)
PEOPLE = pd.DataFrame(
    {
        "age": RNG.integers(18, 76, 60),
        "wage": RNG.normal(3.0, 0.9, 60).round(2),
        "member": RNG.random(60) > 0.5,
        "contract": RNG.choice(["permanent", "fixed-term", "none"], 60),
    }
)
ONE = PEOPLE.iloc[[3]]
FORMS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "frame": lambda row: row,
    "series": lambda row: row.iloc[0],
    "dict": lambda row: row.iloc[0].to_dict(),
    "list of a dict": lambda row: row.to_dict("records"),
    "other order": lambda row: row[row.columns[::-1]],
    "more columns": lambda row: row.assign(note="of no matter"),
    "nullable": lambda row: row.convert_dtypes(),
    "categorical": lambda row: row.astype({"member": "category"}),
}
CALLS: dict[str, Callable[..., Any]] = {
    "check": partial(mv.check, free=[0], epsilon=0.1),
    "explain": partial(mv.explain, epsilon=0.1),
    "minimum": partial(mv.minimum, epsilon=0.1),
    "contrastive": partial(mv.contrastive, epsilon=0.1),
    "enumerate": partial(mv.enumerate_explanations, epsilon=0.1),
    "audit": partial(mv.audit, explanation=[0], epsilon=0.1),
    "relevance": partial(mv.relevance, feature=0, epsilon=0.1),
    "sweep": partial(mv.epsilon_sweep, epsilons=[0.1, 0.2]),
    "radius": mv.robustness_radius,
    "compare": partial(mv.compare, epsilon=0.1, solvers=["highs"]),
}


@pytest.fixture(scope="module")
def pipeline() -> Any:
    from sklearn.compose import ColumnTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    words = ("words", OneHotEncoder(), ["contract"])
    columns = ColumnTransformer(
        [words, ("truth", "passthrough", ["member"])], remainder=StandardScaler()
    )
    decision = PEOPLE.wage > 2.5 + 0.8 * (PEOPLE.contract == "none") - 0.5 * PEOPLE.member
    return make_pipeline(columns, LogisticRegression()).fit(PEOPLE, decision)


@pytest.fixture(scope="module")
def shares() -> pd.DataFrame:
    """Return a table of numbers between 0 and 1."""
    numbers = PEOPLE[["age", "wage", "member"]].astype(float)
    return (numbers - numbers.min()) / (numbers.max() - numbers.min())


@pytest.fixture(scope="module")
def classifier(shares: pd.DataFrame) -> Any:
    from sklearn.neural_network import MLPClassifier

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it need not converge
        fitted = MLPClassifier((4,), max_iter=300, random_state=1)
        return fitted.fit(shares, shares.wage + shares.age > 1)


@pytest.mark.parametrize("form", FORMS)
def test_a_described_row_is_what_the_pipeline_predicts_for(form: str, pipeline: Any) -> None:
    network, inputs = mv.load_network(pipeline), mv.Inputs.from_pipeline(pipeline, PEOPLE)
    row = FORMS[form](ONE)
    (score,) = network.evaluate(Problem(network, row, epsilon=0, inputs=inputs).x)
    assert score == pytest.approx(pipeline.decision_function(ONE)[0])
    (score,) = network.evaluate(inputs.row(row))
    assert score == pytest.approx(pipeline.decision_function(ONE)[0])


@pytest.mark.parametrize("form", [form for form in FORMS if form != "categorical"])
def test_a_row_of_numbers_is_taken_by_the_names_of_the_estimator(
    form: str, classifier: Any, shares: pd.DataFrame
) -> None:
    network, one = mv.load_network(classifier), shares.iloc[[3]]
    row, expected = FORMS[form](one), classifier.predict_proba(one)[0]
    problem = Problem(network, row, epsilon=0)
    np.testing.assert_allclose(network.evaluate(problem.x), expected, atol=1e-6)
    np.testing.assert_allclose(network.evaluate(row), expected, atol=1e-6)
    assert problem.features.names == ("age", "wage", "member")
    assert not any("in the order" in note for note in problem.notes)


def test_a_row_for_a_file_is_taken_in_its_order_and_a_note_says_so(
    classifier: Any, shares: pd.DataFrame, tmp_path: Path
) -> None:
    onnx.save(mv.load_network(classifier).model, tmp_path / "shares.onnx")
    found = mv.explain(tmp_path / "shares.onnx", shares.iloc[[3]], epsilon=0.1)
    assert "the values of the row were taken in the order age, wage, member" in found.notes
    np.testing.assert_allclose(found.input.reshape(-1), shares.iloc[3], rtol=1e-6)


@pytest.mark.parametrize("call", CALLS)
def test_every_function_takes_a_frame_of_one_row_and_refuses_several(
    call: str, classifier: Any, pipeline: Any, shares: pd.DataFrame
) -> None:
    cases = [
        (mv.load_network(classifier), shares, {}),
        (mv.load_network(pipeline), PEOPLE, {"inputs": mv.Inputs.from_pipeline(pipeline, PEOPLE)}),
    ]
    for network, table, described in cases:
        CALLS[call](network, table.iloc[[3]], **described)
        for count in (0, 2):
            told = rf"one row is expected, {count} were seen; df.iloc\[\[i\]\] takes one"
            with pytest.raises(InputError, match=told):
                CALLS[call](network, table.iloc[:count], **described)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            lambda row: row.drop(columns="wage"),
            "missing: wage; the names seen are age, member",
        ),
        (lambda row: row.assign(wage=np.nan), "wage is missing"),
        (
            lambda row: row.assign(wage="much"),
            "wage is 'much', expected a number: words need a des",
        ),
        (lambda row: row.assign(wage=3.5), "the input is 3.5 at coordinate 1, wage, outside its"),
        (lambda row: row.iloc[:, [0, 0, 1, 2]], "two columns named 'age'"),
        (lambda _: "person.json", "the text 'person.json', expected numbers .* json.loads"),
        (lambda _: [0.5, "much", 1], "dtype .* with words such as 'much': give values by name"),
        (lambda row: row.to_dict("list"), r"age is \[.*\], a list, expected one number"),
    ],
)
def test_a_row_that_does_not_fit_is_refused_by_its_column(
    change: Callable[[pd.DataFrame], Any], told: str, classifier: Any, shares: pd.DataFrame
) -> None:
    with pytest.raises(InputError, match=told):
        mv.explain(mv.load_network(classifier), change(shares.iloc[[3]]), epsilon=0.1)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            lambda row: row.rename(columns={"wage": "Wage"}),
            r"missing: wage; the names seen are age, Wage, member, contract. Is 'Wage' meant",
        ),
        (lambda row: row.assign(wage=np.nan), "wage is missing"),
        (lambda row: row.to_numpy(), "words such as 'permanent|fixed-term|none': give values by"),
        (lambda _: [40, 3.0, 1, 0], "each of 4 features, expected one for each of 6 coordinates"),
        (lambda _: [40, np.nan, 1, 0, 0, 1], "the input's wage is nan, expected finite"),
        (lambda row: row.assign(age=500), "the input's age is 500.0, outside of"),
    ],
)
def test_a_described_row_that_does_not_fit_is_refused_by_its_column(
    change: Callable[[pd.DataFrame], Any], told: str, pipeline: Any
) -> None:
    inputs = mv.Inputs.from_pipeline(pipeline, PEOPLE)
    with pytest.raises(InputError, match=told):
        mv.explain(mv.load_network(pipeline), change(ONE), epsilon=0.1, inputs=inputs)


def test_words_without_a_description_ask_for_one(pipeline: Any) -> None:
    for network in (pipeline, mv.load_network(pipeline)):
        with pytest.raises(InputError, match=r"inputs=Inputs.from_pipeline\(pipeline, frame\)"):
            mv.explain(network, ONE, epsilon=0.1)


def test_a_row_of_another_kind_is_refused(pipeline: Any) -> None:
    inputs = mv.Inputs.from_pipeline(pipeline, PEOPLE)
    for row in (ONE.to_numpy(), [1, 2], "text", None, 3):
        with pytest.raises(InputError, match=r"expected values by name: a dict, df\.iloc"):
            inputs.row(row)


def test_words_and_changes_take_rows_and_refuse_other_sizes(pipeline: Any) -> None:
    inputs = mv.Inputs.from_pipeline(pipeline, PEOPLE)
    x = inputs.row(ONE)
    assert inputs.words(ONE) == inputs.words(x) == inputs.words(ONE.iloc[0])
    assert inputs.changes(ONE, ONE.assign(age=71)) == {"age": (str(ONE.age.iloc[0]), "71")}
    inputs.refuse(ONE)  # type: ignore[arg-type]
    for call in (inputs.words, inputs.texts, inputs.refuse):
        with pytest.raises(InputError, match=r"holds 2 entries of type .*, expected 6 numbers"):
            call([1, 2])  # type: ignore[arg-type, operator]


def test_a_table_of_numbers_is_evaluated_by_the_names_of_its_columns(
    classifier: Any, shares: pd.DataFrame
) -> None:
    network = mv.load_network(classifier)
    expected = classifier.predict_proba(shares)
    for table in (shares, shares[shares.columns[::-1]]):
        np.testing.assert_allclose(network.evaluate_many(table), expected, atol=1e-6)


@pytest.mark.parametrize("inputs", [3, PEOPLE, ["age"], "people.json"])
def test_what_is_no_description_is_refused(inputs: Any, pipeline: Any) -> None:
    with pytest.raises(InputError, match=r"inputs are .* Inputs.from_(frame|file)"):
        mv.explain(mv.load_network(pipeline), ONE, epsilon=0.1, inputs=inputs)


def test_a_series_holds_radii_by_name(pipeline: Any) -> None:
    network, inputs = mv.load_network(pipeline), mv.Inputs.from_pipeline(pipeline, PEOPLE)
    radii = {"age": 2.0, "wage": 0.5, "member": 1.0, "contract": 0.0}
    found = Problem(network, ONE, epsilon=pd.Series(radii), inputs=inputs)
    assert found.radii == tuple(radii.values())


def test_more_columns_are_left_out_with_a_note_that_names_them(
    pipeline: Any, classifier: Any, shares: pd.DataFrame
) -> None:
    described = {"inputs": mv.Inputs.from_pipeline(pipeline, PEOPLE)}
    for fitted, row, more in (
        (pipeline, ONE.iloc[0], described),
        (classifier, shares.iloc[3], dict[str, Any]()),
    ):
        plain = mv.explain(fitted, row, epsilon=0.1, **more)
        wide = pd.concat([pd.Series({"id": 7.0}), row, pd.Series({"name": 3.0})])
        for given in (wide, wide.to_dict(), wide.to_frame().T):
            found = mv.explain(fitted, given, epsilon=0.1, **more)
            assert "left out of the row, as they are no features: id, name" in found.notes
            assert found.explanation == plain.explanation
            np.testing.assert_array_equal(found.input, plain.input)
        assert not any("left out" in note for note in plain.notes)
        with pytest.raises(InputError, match="missing: wage"):
            mv.explain(fitted, wide.drop("wage"), epsilon=0.1, **more)


def test_rows_without_names_are_taken_by_position(
    classifier: Any, shares: pd.DataFrame, tmp_path: Path
) -> None:
    values = shares.iloc[3].to_numpy()
    onnx.save(mv.load_network(classifier).model, tmp_path / "shares.onnx")
    inputs = mv.Inputs.from_frame(shares)
    for network in (tmp_path / "shares.onnx", classifier):
        for row in (pd.Series(values), pd.DataFrame([values]), pd.DataFrame([values]).iloc[0]):
            for more in ({}, {"inputs": inputs}):
                problem = Problem(network, row, epsilon=0.1, **more)  # type: ignore[arg-type]
                np.testing.assert_allclose(problem.x, values, rtol=1e-6)
                assert not any("values of" in note for note in problem.notes)
    # numbers may be the names: then they tell
    places = mv.Inputs.from_frame(shares.set_axis([2, 0, 1], axis=1))
    np.testing.assert_array_equal(places.row(pd.Series([10.0, 20.0, 30.0])), [30.0, 10.0, 20.0])


def test_a_structured_array_is_a_row_by_name(classifier: Any, shares: pd.DataFrame) -> None:
    network, rows = mv.load_network(classifier), shares[["wage", "member", "age"]].to_records()
    for row in (rows[3], rows[3:4]):
        problem = Problem(network, row, epsilon=0.1)
        np.testing.assert_allclose(problem.x, shares.iloc[3], rtol=1e-6)
        assert problem.notes[0] == "left out of the row, as it is no feature: index"
    with pytest.raises(InputError, match="one row is expected, 60 were seen"):
        Problem(network, rows, epsilon=0.1)


def test_names_of_features_place_a_row_where_the_model_has_none(
    classifier: Any, shares: pd.DataFrame, tmp_path: Path
) -> None:
    onnx.save(mv.load_network(classifier).model, tmp_path / "shares.onnx")
    names, row = list(shares.columns), shares.iloc[3]
    pose = partial(Problem, tmp_path / "shares.onnx", epsilon=0.1, feature_names=names)
    problem = pose(row[["member", "wage", "age"]])
    np.testing.assert_allclose(problem.x, row, rtol=1e-6)
    assert not any("order" in note for note in problem.notes)
    with pytest.raises(InputError, match=r"the row needs .* missing: wage; the names seen are id"):
        pose(pd.Series({"id": 0.1, "age": 0.2, "member": 0.0}))


def test_names_of_features_do_not_move_columns_of_the_model(
    classifier: Any, shares: pd.DataFrame
) -> None:
    row = shares.iloc[3]
    for x in (row, row.to_numpy()):
        for names in (["wage", "age", "member"], ["id", "age", "wage"]):
            with pytest.raises(InputError, match=r"feature_names: '\w+' is at place \d, and the m"):
                Problem(classifier, x, epsilon=0.1, feature_names=names)
        for names in (list(shares.columns), ["age", "pay", "member"], ["a", "b", "c"]):
            found = Problem(classifier, x, epsilon=0.1, feature_names=names)
            assert found.features.names == tuple(names)


def test_an_underscore_of_lightgbm_is_a_space_of_the_table() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    table = PEOPLE[["age", "wage"]].rename(columns={"age": "age in years", "wage": "pay_ok"})
    table["a  b"] = PEOPLE.member.astype(float)
    fitted = lightgbm.LGBMClassifier(n_estimators=3, verbose=-1, min_child_samples=2)
    fitted.fit(table, PEOPLE.wage > 3)
    network, row = mv.load_network(fitted), table.iloc[3]
    assert network.columns == ("age_in_years", "pay_ok", "a__b")
    for columns in (["a  b", "pay_ok", "age in years"], ["pay_ok", "age in years", "a  b"]):
        np.testing.assert_array_equal(network.evaluate(row[columns]), network.evaluate(row))
        np.testing.assert_array_equal(network.evaluate(row[columns]), network.evaluate([*row]))
    problem = Problem(network, row, epsilon=0.1, domain=(table.min(), table.max()))
    assert problem.minimum(costs={"age in years": 3.0, "*": 1}).costs == (3.0, 1.0, 1.0)
