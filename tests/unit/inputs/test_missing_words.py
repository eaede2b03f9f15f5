"""Missing values before the encoders and imputers of a pipeline, described, explained and told."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

import milp_verix as mv
from milp_verix.cli.model_and_input import _described
from milp_verix.study.study_inputs import described_inputs

pytestmark = pytest.mark.filterwarnings(
    "ignore::UserWarning", "ignore::sklearn.exceptions.ConvergenceWarning"
)

MODELS = {
    "trees": lambda: GradientBoostingClassifier(n_estimators=8, random_state=0),
    "histogram": lambda: HistGradientBoostingClassifier(max_iter=8),
    "linear": lambda: LogisticRegression(max_iter=500),
    "network": lambda: MLPClassifier((6,), max_iter=60, random_state=0),
}
FILLED = {
    "learnt": [],
    "unknown": [SimpleImputer(strategy="constant", fill_value="unknown")],
    "missing": [SimpleImputer(strategy="constant", fill_value="missing")],
    "None": [SimpleImputer(strategy="constant", fill_value="None")],
    "frequent": [SimpleImputer(strategy="most_frequent")],
}


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    words = rng.choice(["fixed", "none", "open"], 300).astype(object)
    frame = pd.DataFrame({"wage": rng.normal(30, 9, 300).round(), "debt": rng.normal(9, 3, 300)})
    frame["contract"] = words
    frame["contract"] = frame["contract"].mask(rng.random(300) < 0.25)
    frame["debt"] = frame["debt"].round(1).mask(rng.random(300) < 0.25)
    return frame


def _labels(frame: pd.DataFrame) -> Any:
    score = frame["wage"] / 3 - frame["debt"].fillna(14) + 6 * frame["contract"].isna()
    return np.where(score > 3, "granted", "refused")


def _fitted(frame: pd.DataFrame, model: Any, words: list[Any], *, marked: bool) -> Pipeline:
    numbers = make_pipeline(SimpleImputer(add_indicator=marked), StandardScaler())
    parts = [("n", numbers, ["wage", "debt"]), ("w", make_pipeline(*words), ["contract"])]
    return Pipeline([("columns", ColumnTransformer(parts)), ("model", model)]).fit(
        frame, _labels(frame)
    )


def _encoder(kind: str, model: str) -> Any:
    if kind == "blocks":
        return OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    missing = np.nan if model == "histogram" else -2
    return OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=missing
    )


@pytest.mark.parametrize(
    ("model", "encoder", "filled", "marked"),
    [
        ("trees", "blocks", "learnt", False),
        ("trees", "codes", "unknown", True),
        ("trees", "blocks", "missing", True),
        ("histogram", "codes", "learnt", False),
        ("histogram", "blocks", "frequent", True),
        ("linear", "blocks", "learnt", False),
        ("linear", "blocks", "missing", False),
        ("trees", "codes", "None", False),
        ("linear", "blocks", "None", False),
        ("network", "codes", "frequent", False),
        ("network", "codes", "learnt", False),
    ],
)
def test_missing_values_are_explained_and_told_as_missing(
    table: pd.DataFrame, model: str, encoder: str, filled: str, marked: bool
) -> None:
    trees = model in ("trees", "histogram")
    frame = table if trees else table.fillna({"debt": 9.0})
    words = [*FILLED[filled], _encoder(encoder, model)]
    pipeline = _fitted(frame, MODELS[model](), words, marked=marked and trees)
    named = ["contract", "debt"] if trees else ["contract"]
    inputs = mv.Inputs.from_pipeline(pipeline, frame, missing=named)
    network = mv.load_network(pipeline)
    for place in (*np.flatnonzero(frame.isna().any(axis=1))[:2], 0):
        row = frame.iloc[place]
        found = mv.explain(pipeline, row, epsilon="inf", inputs=inputs)
        decision = inputs.class_names[int(found.prediction)]
        assert decision == pipeline.predict(frame.iloc[[place]])[0]
        holes = {name for name, value in (found.words or {}).items() if value == "missing"}
        assert holes == {*frame.columns[row.isna()]}
        assert "nan" not in found.sentence()
        assert found.replay(network) == ()
        assert model == "histogram" or found.certify(pipeline).unproven == ()
        # by brute force: other values of the columns that the explanation frees
        others = frame.sample(60, replace=True, random_state=1).reset_index(drop=True)
        for feature in found.explanation:
            name = inputs.names[feature]
            others[name] = pd.Series([row[name]] * len(others), dtype=frame[name].dtype)
        assert {*pipeline.predict(others)} == {decision}


def test_a_word_that_an_encoder_has_learnt_as_missing_needs_no_name(table: pd.DataFrame) -> None:
    frame = table.fillna({"debt": 9.0})
    pipeline = _fitted(frame, MODELS["linear"](), [OneHotEncoder()], marked=False)
    inputs = mv.Inputs.from_pipeline(pipeline, frame)
    assert inputs.features[2].values == ("fixed", "none", "open", "missing")
    assert mv.Inputs.from_data(inputs.to_data()) == inputs
    with pytest.raises(mv.InputError, match="no value 'nan'"):
        inputs.row({**frame.iloc[0], "contract": "nan"})
    frame["contract"] = frame.contract.astype(object).where(frame.contract.notna(), None)
    pipeline = _fitted(frame, MODELS["linear"](), [OneHotEncoder()], marked=False)
    with pytest.raises(mv.InputError, match="learnt None as a value of contract"):
        mv.Inputs.from_pipeline(pipeline, frame)


def test_rows_with_missing_words_are_counted_and_studied(
    table: pd.DataFrame, tmp_path: Path
) -> None:
    words = [*FILLED["unknown"], OneHotEncoder()]
    pipeline = _fitted(table, MODELS["trees"](), words, marked=True)
    inputs = mv.Inputs.from_pipeline(pipeline, table, missing=["contract", "debt"])
    asked: dict[str, Any] = {"epsilon": "inf", "inputs": inputs}
    network = mv.load_network(pipeline)
    row = table[table["contract"].isna()].iloc[0]
    told = mv.inflate(network, row, rows=table, **asked).sentence()
    assert "missing" in told
    assert "of the 300 rows" in told
    assert mv.find_rules(network, table, count=1, tries=2, **asked).rows == len(table)
    rows = table.iloc[:8].to_dict("records")
    study = mv.explain_many(network, rows, journal=tmp_path / "study", workers=2, **asked)
    assert (study.done, study.failed) == (8, 0)


def test_a_network_without_an_imputer_says_what_to_do(table: pd.DataFrame) -> None:
    unknown = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
    full = table.fillna({"contract": "none", "debt": 9.0})
    coded = _fitted(full, MODELS["linear"](), [unknown], marked=False)
    inputs = mv.Inputs.from_pipeline(coded, full, missing=["contract"])
    with pytest.raises(mv.InputError, match="encoded_missing_value=-1"):
        mv.explain(coded, full.iloc[0], epsilon="inf", inputs=inputs)
    bare = make_pipeline(StandardScaler(), MODELS["network"]())
    bare.fit(full[["wage", "debt"]], _labels(table))
    inputs = mv.Inputs.from_pipeline(bare, table, missing=["debt"])
    for network in (bare, mv.load_network(bare)):
        with pytest.raises(mv.InputError, match="no imputer of the pipeline fills it in"):
            mv.explain(network, full.iloc[0], epsilon="inf", inputs=inputs)
    with pytest.raises(mv.InputError, match="give a pipeline with a SimpleImputer"):
        mv.explain(mv.load_network(bare).model, [1.0, 2.0], epsilon="inf", inputs=inputs)
    still = mv.Inputs([inputs.features[0], mv.fixed("debt", missing=True)])
    with pytest.raises(mv.InputError, match="with the radius 0"):
        mv.explain(bare, {"wage": 20, "debt": None}, epsilon="inf", inputs=still)


def test_numbers_may_be_missing_before_networks(table: pd.DataFrame, tmp_path: Path) -> None:
    pipeline = _fitted(
        table, MODELS["network"](), [*FILLED["frequent"], OneHotEncoder()], marked=True
    )
    inputs = mv.Inputs.from_pipeline(pipeline, table, missing=["contract", "debt"])
    row = table[table["debt"].isna() & table["contract"].notna()].iloc[0]
    asked: dict[str, Any] = {"epsilon": "inf", "inputs": inputs}
    found = mv.explain(pipeline, row, **asked)
    found.to_json(tmp_path / "found.json")
    again = mv.Explanation.from_json(tmp_path / "found.json")
    assert again.inputs == found.inputs != inputs
    assert again.words == found.words == inputs.words(found.input)
    assert again.replay(mv.load_network(pipeline)) == ()
    assert again.certify(pipeline).unproven == ()
    # an array may have NaN, or either code: the next number, or the one of results
    code = found.input.reshape(-1)
    for debt in (code[1], inputs.row(row)[1], np.nan):
        x = np.array([code[0], debt, *code[2:]])
        assert mv.explain(pipeline, x, **asked).explanation == found.explanation
    x = np.array([code[0], (inputs.features[1].last + code[1]) / 2, *code[2:]])
    with pytest.raises(mv.InputError, match="outside of"):
        mv.explain(pipeline, x, **asked)
    with pytest.raises(mv.InputError, match="debt is 900, outside of"):
        mv.explain(pipeline, {**row, "debt": 900}, **asked)
    told = mv.inflate(pipeline, row, rows=table, **asked).sentence()
    assert "debt is missing" in told
    assert "of the 300 rows" in told
    assert mv.find_rules(pipeline, table, count=1, tries=2, **asked).rows == len(table)
    table.iloc[:8].to_csv(tmp_path / "rows.csv", index=False)
    study = mv.explain_many(
        pipeline, tmp_path / "rows.csv", journal=tmp_path / "study", workers=2, **asked
    )
    assert (study.done, study.failed) == (8, 0)
    near = mv.explain(pipeline, row, epsilon="10%", inputs=inputs)
    assert 1 in near.still


def test_a_network_behind_a_transformer_reads_missing_numbers(table: pd.DataFrame) -> None:
    numbers = table[["wage", "debt"]]
    steps = make_pipeline(StandardScaler(), SimpleImputer(add_indicator=True)).fit(numbers)
    model = MODELS["network"]().fit(steps.transform(numbers), _labels(table))
    network = mv.load_network(model, transformer=steps)
    inputs = mv.Inputs.from_pipeline(steps, numbers, missing=["debt"])
    row = numbers[numbers["debt"].isna()].iloc[0]
    found = mv.contrastive(network, row, epsilon="inf", inputs=inputs).counterfactual
    assert found is not None
    told = inputs.words(found.input)
    changed = pd.DataFrame([{n: np.nan if v == "missing" else float(v) for n, v in told.items()}])
    before, after = (model.predict(steps.transform(one))[0] for one in (row.to_frame().T, changed))
    assert before != after


def test_a_truth_value_may_be_missing(table: pd.DataFrame) -> None:
    frame = table.assign(member=(table["wage"] > 30).astype(object).mask(table["debt"].isna()))
    inputs = mv.Inputs.from_frame(frame[["member"]], missing=["member"])
    assert inputs.words({"member": True}) == {"member": "yes"}
    assert inputs.words({"member": np.nan}) == {"member": "missing"}


@pytest.mark.parametrize("model", ["linear", "trees"])
def test_wide_tables_with_missing_numbers_take_no_time_for_each_column(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 100)).round(2)).add_prefix("c")
    labels = (frame["c0"] > 0).to_numpy()
    frame = frame.mask(np.random.default_rng(1).random(frame.shape) < 0.1)
    pipeline = make_pipeline(SimpleImputer(), MODELS[model]()).fit(frame, labels)
    inputs = mv.Inputs.from_pipeline(pipeline, frame, missing=[*frame.columns])
    asked: list[None] = []
    upper, transform = mv.Inputs.upper.fget, SimpleImputer.transform  # type: ignore[attr-defined]
    monkeypatch.setattr(mv.Inputs, "upper", property(lambda s: asked.append(None) or upper(s)))
    monkeypatch.setattr(
        SimpleImputer, "transform", lambda s, rows: asked.append(None) or transform(s, rows)
    )
    mv.Problem(pipeline, frame.iloc[0], epsilon="inf", inputs=inputs)
    assert len(asked) < 100  # a condition is looked for in about 50 steps


@pytest.mark.parametrize("model", ["linear", "trees"])
def test_wide_tables_with_missing_words_take_no_run_for_each_column(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    counts = rng.integers(2, 6, 60)  # of words
    frame = pd.DataFrame({f"c{n}": rng.integers(0, count, 90) for n, count in enumerate(counts)})
    labels = (frame["c0"] > frame["c1"]).to_numpy()
    frame = frame.astype(str).astype(object).mask(rng.random(frame.shape) < 0.1)
    pipeline = make_pipeline(OneHotEncoder(sparse_output=False), MODELS[model]())
    pipeline.fit(frame, labels)
    asked: list[None] = []
    transform = OneHotEncoder.transform
    monkeypatch.setattr(
        OneHotEncoder, "transform", lambda s, rows: asked.append(None) or transform(s, rows)
    )
    inputs = mv.Inputs.from_pipeline(pipeline, frame)
    problem = mv.Problem(pipeline, frame.iloc[0], epsilon="inf", inputs=inputs)
    assert len(asked) <= 9  # each takes a while for each column
    expected = pipeline.decision_function(frame)
    for place in range(5):
        point = problem.network.described(inputs).row(frame.iloc[place].to_dict())
        assert problem.network.scores_at(point)[-1] == pytest.approx(expected[place], rel=1e-9)


@pytest.mark.parametrize("model", MODELS)
def test_an_example_of_rows_does_not_hinder_missing_words(model: str, table: pd.DataFrame) -> None:
    words = [SimpleImputer(strategy="constant", fill_value="unknown"), OneHotEncoder()]
    fitted = _fitted(table, MODELS[model](), words, marked=False)
    network = mv.load_network(fitted, example=table)
    inputs = mv.Inputs.from_pipeline(fitted, table, missing=["contract", "debt"])
    row = table[table["contract"].isna()].iloc[0]
    found = mv.minimum(network, row, epsilon="inf", inputs=inputs, time_limit=20)
    others = table.copy()
    for place in found.explanation:
        others[table.columns[place]] = [row.iloc[place]] * len(table)
    assert {*fitted.predict(others)} == {*fitted.predict(row.to_frame().T)}


@pytest.mark.parametrize("filled", ["learnt", "frequent"])
@pytest.mark.parametrize("other", [None, pd.NA, pd.NaT, ""])
def test_what_scikit_learn_tells_from_nan_is_refused(
    filled: str, other: Any, table: pd.DataFrame
) -> None:
    words = [*FILLED[filled], OneHotEncoder(handle_unknown="ignore")]
    pipeline = _fitted(table, MODELS["trees"](), words, marked=True)
    inputs = mv.Inputs.from_pipeline(pipeline, table, missing=["contract", "debt"])
    row = table[table.contract.isna() & table.debt.notna()].iloc[0].to_dict()
    given = pd.DataFrame({"contract": pd.Series([other], dtype=object)}).assign(
        wage=row["wage"], debt=row["debt"]
    )
    if filled == "learnt":  # it is a word that the encoder does not know, as no row here has
        assert pipeline[0].transform(given)[0, -4:].tolist() == [0, 0, 0, 0]
    for x in (row | {"contract": other}, given, *([row | {"debt": None}] * (other is None))):
        with pytest.raises(mv.InputError, match=r"scikit-learn tell from NaN: give numpy\.nan"):
            mv.Problem(pipeline, x, inputs=inputs, epsilon="inf")
    with pytest.raises(mv.InputError, match="contract is"):
        mv.inflate(pipeline, row, inputs=inputs, epsilon="inf", rows=given)
    named = given.astype(object).where(given.notna(), np.nan)  # as the message says
    if not isinstance(other, str):
        assert inputs.row(named).tolist() == inputs.row(row).tolist()


def test_empty_cells_of_files_are_nan(table: pd.DataFrame, tmp_path: Path) -> None:
    words = [OneHotEncoder(handle_unknown="ignore")]
    pipeline = _fitted(table, MODELS["trees"](), words, marked=True)
    inputs = mv.Inputs.from_pipeline(pipeline, table, missing=["debt"])
    gaps = table[table.isna().all(axis=1) | table.contract.isna()].head(3)
    gaps.to_csv(tmp_path / "gaps.csv", index=False)
    gaps.astype({"contract": "string"}).to_parquet(tmp_path / "gaps.parquet")
    expected = [inputs.row(row).tolist() for _, row in gaps.iterrows()]
    for name in ("gaps.csv", "gaps.parquet"):
        found = described_inputs(tmp_path / name, inputs)
        assert [found.read(place).tolist() for place in range(3)] == expected
    (tmp_path / "row.json").write_text(gaps.iloc[0].to_json())
    assert ":null" in (tmp_path / "row.json").read_text()
    x, _ = _described(str(tmp_path / "row.json"), mv.load_network(pipeline), inputs, False)
    assert x.tolist() == expected[0]


def test_an_imputer_of_none_fills_no_nan_in(table: pd.DataFrame) -> None:
    frame = table[["contract", "wage"]]
    holes = frame.astype(object).where(frame.notna(), None)
    filled = SimpleImputer(missing_values=None, strategy="most_frequent")
    parts = [("w", make_pipeline(filled, OneHotEncoder()), ["contract"])]
    for model in ("trees", "linear"):
        fitted = make_pipeline(ColumnTransformer(parts), MODELS[model]()).fit(holes, _labels(table))
        with pytest.raises(mv.InputError, match="the SimpleImputer looks for None: fit it with"):
            mv.Inputs.from_pipeline(fitted, holes, missing=["contract"])


@pytest.mark.parametrize("kind", [object, "str", "category"])
def test_a_word_missing_beside_nan_can_be_renamed_as_told(kind: Any, table: pd.DataFrame) -> None:
    df = table.fillna({"debt": 9.0})
    df["contract"] = df["contract"].replace("none", "missing").astype(kind)
    fitted = _fitted(df, MODELS["linear"](), [OneHotEncoder()], marked=False)
    with pytest.raises(mv.InputError, match="listed twice, for NaN and a word") as refused:
        mv.Inputs.from_pipeline(fitted, df)
    exec(str(refused.value).split(" after ")[1].removesuffix(", and give its rows"), {"df": df})
    fitted = _fitted(df, MODELS["linear"](), [OneHotEncoder()], marked=False)
    inputs = mv.Inputs.from_pipeline(fitted, df)
    assert inputs.features[2].values == ("fixed", "not given", "open", "missing")
    mv.Problem(fitted, df.iloc[0], inputs=inputs, epsilon="inf")
