"""Tables, models of every kind that is read, and how their owner predicts.

A case is what a user has: a frame, a model fitted on it, and its own ``predict``. What the library
gets is the model, or its file, and a description; the judge believes the frame and ``predict``.
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import onnx
import onnxruntime
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import milp_verix as mv

Rng: TypeAlias = np.random.Generator
Predict: TypeAlias = Callable[[pd.DataFrame], NDArray[Any]]

NAMES = (
    *(
        "age",
        "income",
        "years in job",
        "Größe",
        "дом",
        "年收入",
        "ΔT",
        "rate per hour",
        "is member",
    ),
    *("with debt", "50 % share", "feature 1", "7", "sex", "x within y", "net-income (after tax)"),
    *("the longest name of a column that anybody has ever given", "at most", "Ω_2", "ok?"),
)
ODD_NAMES = ("debt, total", "rise and fall", "a “quoted” name", "to: whom", "one, two and three")
"""Names with signs that sentences are made of; LightGBM and XGBoost refuse some of them."""

WORDS = (
    *(("female", "male"), ("sales", "cook", "nurse"), ("grün", "weiß", "süß", "öd")),
    *(
        ("да", "нет", "может быть"),
        ("北京", "上海", "广州", "深圳"),
        ("rises", "falls", "as it is"),
    ),
    *(
        ("fixed-term", "permanent", "none", "self-employed"),
        ("black and white", "red, or blue", "no"),
    ),
    tuple("ABCDEFGHI"),
)
UNITS = ("years", "€", "kg per m²", "thousand a year", "°C")
LABELS: tuple[tuple[Any, ...], ...] = (
    *(("refused", "granted"), ("refused", "granted", "pending"), ("no", "yes"), ("нет", "да")),
    *(("bad luck", "not “so” bad", "it’s fine, and good"), (5, 6), (3, 7, 9), (False, True)),
    *((0, 1), (0, 1, 2)),
)
MESSAGES = (
    "free prize, call now",
    "win a free prize",
    "lunch at noon?",
    "call me at lunch, friend",
)


@dataclass(frozen=True)
class Column:
    """A column as its owner knows it: whole or real numbers between two ends, or words.

    Several coordinates of an array that change together are a column of the kind ``"group"``: its
    values are tuples.
    """

    name: str
    kind: str
    low: float = 0.0
    high: float = 0.0
    words: tuple[str, ...] = ()
    unit: str = ""
    missing: bool = False
    fixed: bool = False
    deviation: float = 0.0


@dataclass(frozen=True, eq=False)
class Case:
    """A frame, a model, its description, and what its owner's ``predict`` says.

    ``predict`` returns a name for each row as ``classes`` has them, or a number; ``scores`` an
    array (rows, classes). ``rules`` are texts with the rows that satisfy each. A ``message`` is
    asked about by its own problem, and its columns are its words. An array without a description
    is ``given`` with the arguments that say how to read it; ``array`` makes it of a row, and
    ``places`` are what lists call its columns; a model of ``single`` precision rounds it. What
    a regressor puts through a link to predict are ``sums``.
    """

    columns: tuple[Column, ...]
    frame: pd.DataFrame
    model: Any
    inputs: Any
    predict: Predict
    classes: tuple[str, ...] = ()
    scores: Predict | None = None
    rules: Mapping[str, Callable[[pd.DataFrame], NDArray[np.bool_]]] = field(default_factory=dict)
    message: Any = None
    given: Mapping[str, Any] | None = None
    array: Callable[[pd.DataFrame], NDArray[Any]] | None = None
    places: tuple[tuple[str, str], ...] = ()
    single: bool = False
    sums: Predict | None = None
    kind: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns that are described, in the order of the description."""
        return tuple(column.name for column in self.columns)

    def own(self, row: int) -> dict[str, Any]:
        """Return the values of a row of the frame: numbers, words, None for a missing one."""
        return {name: cell(self.frame[name].iloc[row]) for name in self.names}

    def table(self, values: Mapping[str, Any]) -> pd.DataFrame:
        """Return columns of values as a frame with the types of the user's own."""
        made = {}
        for name in self.frame.columns:
            column, seen = self.frame[name], list(values[name])
            if isinstance(column.dtype, pd.CategoricalDtype):
                made[name] = pd.Categorical(seen, categories=column.cat.categories)
            elif column.dtype == bool:
                made[name] = np.array([value == "yes" for value in seen])
            elif pd.api.types.is_numeric_dtype(column.dtype):
                numbers = np.array([np.nan if v is None else v for v in seen], dtype=np.float64)
                whole = column.dtype.kind == "i" and bool((numbers == np.rint(numbers)).all())
                made[name] = numbers.astype(column.dtype) if whole else numbers
            else:
                made[name] = pd.Series(seen, dtype=column.dtype)
        return pd.DataFrame(made)


def cell(value: Any) -> Any:
    """Return a value of a frame as texts have it: a word, a number, or None for a missing one."""
    if isinstance(value, str | tuple):
        return value
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    return None if pd.isna(value) else float(value)


def case(seed: int, folder: Path) -> Case:
    """Return the case of ``seed``; a model that the library gets as a file lies in ``folder``."""
    rng = np.random.default_rng([48, seed])
    kind = [*KINDS][seed % len(KINDS)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return replace(KINDS[kind](rng, folder), kind=kind)


def drawn_columns(rng: Rng, *, plain: bool = False, missing: bool = False) -> list[Column]:
    """Return three to five random columns, at least one of whole numbers and one of words.

    ``plain`` leaves out names that libraries of trees refuse.
    """
    count = int(rng.integers(3, 6))
    names = rng.choice(NAMES if plain else (*NAMES, *ODD_NAMES), count, replace=False).tolist()
    columns = []
    for place, name in enumerate(names):
        kind = str(rng.choice(["whole", "real", "words", "yes or no"]))
        kind = ("whole", "words", kind)[min(place, 2)]
        may, unit = missing and bool(rng.random() < 0.4), ""
        if kind in ("words", "yes or no"):
            words = WORDS[rng.integers(len(WORDS))] if kind == "words" else ("no", "yes")
            columns.append(Column(name, "words", words=words, missing=may and kind == "words"))
            continue
        low = float(rng.choice([0, 1, 18, -5, 1_000_000, 17000]))
        width = float(rng.choice([1, 3, 9, 40, 5000]))
        if kind == "real":
            width = float(10.0 ** rng.integers(-5, 7))
            low = float(rng.choice([0.0, -width, 100 * width]))
        unit = str(rng.choice(UNITS)) if rng.random() < 0.3 else ""
        columns.append(Column(name, kind, low, low + width, unit=unit, missing=may))
    return columns


def drawn_frame(
    rng: Rng, columns: list[Column], rows: int = 160, *, truth: bool = False, sort: bool = False
) -> pd.DataFrame:
    """Return rows, with columns in any order; numbers have few digits in some, and all in others.

    With ``truth`` yes and no are truth values always; ``sort`` puts words in their order.
    """
    made: dict[str, Any] = {}
    for place in rng.permutation(len(columns)):
        column, gaps = columns[place], rng.random(rows) < 0.2
        if column.words == ("no", "yes") and (truth or rng.random() < 0.7):
            made[column.name] = rng.random(rows) < 0.5
        elif column.kind == "words":
            drawn = rng.choice(column.words, rows).astype(object)
            drawn[: len(column.words)] = column.words
            drawn[len(column.words) :][gaps[len(column.words) :] & column.missing] = None
            words = sorted(column.words) if sort else column.words
            made[column.name] = pd.Categorical(drawn, categories=words)
        else:
            numbers = rng.uniform(column.low, column.high, rows)
            digits = 2 - int(np.floor(np.log10(column.high - column.low))) + int(rng.integers(0, 3))
            if column.kind == "whole" or rng.random() < 0.6:
                numbers = np.round(numbers, 0 if column.kind == "whole" else digits)
            numbers[gaps & column.missing] = np.nan
            whole = column.kind == "whole" and not column.missing
            made[column.name] = numbers.astype(int) if whole else numbers
    return pd.DataFrame(made)


def described(rng: Rng, columns: list[Column], frame: pd.DataFrame) -> list[Column]:
    """Return the columns as a description of ``frame`` has them: ends of the data, any order."""
    found = []
    for place in rng.permutation(len(columns)):
        column, seen = columns[place], frame[columns[place].name]
        if column.kind != "words":
            ends = {"low": float(seen.min()), "high": float(seen.max())}
            spread = float(np.std(seen.dropna().to_numpy(np.float64)))
            kind, fixed = "real" if seen.dtype.kind == "f" else "whole", bool(rng.random() < 0.08)
            column = replace(column, **ends, kind=kind, deviation=spread, fixed=fixed)
        found.append(column)
    return found


def drawn_score(rng: Rng, frame: pd.DataFrame) -> NDArray[np.float64]:
    """Return a number for each row on which labels depend: effects of columns, one interaction."""
    parts = []
    for name in frame.columns:
        seen = frame[name]
        if isinstance(seen.dtype, pd.CategoricalDtype):
            parts.append(rng.normal(size=len(seen.cat.categories) + 1)[seen.cat.codes])
        else:
            numbers = seen.astype(float).fillna(seen.astype(float).mean())
            spread = float(numbers.std()) or 1.0
            parts.append(rng.normal() * ((numbers - numbers.mean()) / spread).to_numpy())
    total = np.sum(parts, axis=0) + parts[0] * parts[-1]
    return np.asarray(total + 0.3 * rng.normal(size=len(frame)))


def drawn_rules(
    rng: Rng, columns: list[Column], frame: pd.DataFrame
) -> dict[str, Callable[[pd.DataFrame], NDArray[np.bool_]]]:
    """Return a rule over two columns of whole numbers, or none."""
    whole = [c for c in columns if c.kind == "whole" and c.name.isidentifier() and not c.fixed]
    if len(whole) < 2 or rng.random() < 0.3:
        return {}
    one, other = whole[0].name, whole[1].name
    gap = int(np.quantile((frame[one] - frame[other]).to_numpy(), 0.2))
    text = f"{one} >= {other} {'+' if gap >= 0 else '-'} {abs(gap)}"
    return {text: lambda rows: (rows[one] - rows[other]).to_numpy() >= gap}


def told_classes(classes: Any) -> tuple[str, ...]:
    """Return classes as texts name them: 0, 1, … are numbers, all others have their own names."""
    listed = [value.item() if hasattr(value, "item") else value for value in classes]
    numbered = listed == [*range(len(listed))] and not any(isinstance(v, bool) for v in listed)
    return tuple(f"class {v}" if numbered else str(v) for v in listed)


def fitted(
    rng: Rng,
    model: Any,
    columns: list[Column],
    frame: pd.DataFrame,
    encoded: Predict = lambda rows: rows,
    *,
    pipeline: bool = False,
    coded: bool = False,
    file: Callable[[Any], str] | None = None,
    one_hot: list[str] | None = None,
) -> Case:
    """Return the case of ``model``, fitted here on ``frame`` as it is ``encoded``.

    ``coded`` labels are 0, 1, …, named by the description; ``file`` writes the model, which then
    knows no names of classes, either. A regressor predicts numbers of any scale.
    """
    score, order = drawn_score(rng, frame), [*frame.columns]
    found = described(rng, columns, frame)
    if pipeline:  # which describes none of its columns as fixed
        found = [replace(column, fixed=False) for column in found]
    labels, names = LABELS[rng.integers(len(LABELS))], list[str]()
    if regression := not hasattr(model, "predict_proba") and not hasattr(
        model, "decision_function"
    ):
        target = 10.0 ** rng.integers(-2, 4) * (score + rng.integers(0, 3))
        linked = getattr(model, "objective", None) == "poisson"
        model.fit(encoded(frame), np.exp(score) if linked else target)
    else:
        cuts = np.quantile(score, np.linspace(0, 1, len(labels) + 1)[1:-1])
        places = np.searchsorted(cuts, score)
        model.fit(encoded(frame), places if coded else np.array(labels)[places])
        names = [*map(str, labels if coded else model.classes_)] if coded or file else []
    rules = {} if regression else drawn_rules(rng, found, frame)
    given: dict[str, Any] = {
        "units": {column.name: column.unit for column in found if column.unit},
        "rules": [*rules],
    }
    if pipeline:
        may = [column.name for column in found if column.missing]
        inputs = mv.Inputs.from_pipeline(model, frame, **given, missing=may)
        found.sort(key=lambda column: inputs.names.index(column.name))
    else:
        inputs = mv.Inputs.from_frame(
            frame[[column.name for column in found]],
            **given,
            missing=[column.name for column in found if column.missing],
            fixed=[column.name for column in found if column.fixed],
            class_names=names,
            one_hot=one_hot or [],
        )
    made = Case(
        tuple(found),
        frame,
        file(model) if file else model,
        inputs,
        lambda rows: np.asarray(model.predict(encoded(rows[order])), np.float64).reshape(-1),
        rules=rules,
    )
    if regression:
        sums = (lambda rows: np.log(made.predict(rows))) if linked else None
        return replace(made, sums=sums)
    classes, known = tuple(names) or told_classes(model.classes_), [*map(str, model.classes_)]
    scored = getattr(model, "predict_proba", None) or model.decision_function

    def predict(rows: pd.DataFrame) -> NDArray[Any]:
        told = [classes[known.index(str(one))] for one in model.predict(encoded(rows[order]))]
        return np.array(told, dtype=object)

    def scores(rows: pd.DataFrame) -> NDArray[Any]:
        return np.asarray(scored(encoded(rows[order])))

    return replace(made, classes=classes, predict=predict, scores=scores)


def _piped(estimator: Callable[[Rng], Any]) -> Callable[[Rng, Path], Case]:
    """Return a maker of pipelines of encoders and scalers."""

    def make(rng: Rng, folder: Path) -> Case:
        columns = drawn_columns(rng)
        frame = drawn_frame(rng, columns)
        encoder = [OneHotEncoder(), OrdinalEncoder(), OneHotEncoder(drop="first")][rng.integers(3)]
        numbers = [StandardScaler(), MinMaxScaler(), "passthrough"][rng.integers(3)]
        split = ColumnTransformer([("words", encoder, _worded(frame))], remainder=numbers)
        model = make_pipeline(split, estimator(rng))
        return fitted(rng, model, columns, frame, pipeline=True)

    return make


def _imputed(rng: Rng, folder: Path) -> Case:
    """Return a case of imputers, indicators and encoders before a model read as a network."""
    columns = drawn_columns(rng, missing=True)
    frame = drawn_frame(rng, columns)
    fill = str(rng.choice(["mean", "median", "most_frequent", "constant"]))
    numbers = make_pipeline(
        SimpleImputer(strategy=fill, add_indicator=bool(rng.integers(2))),
        [StandardScaler(), MinMaxScaler(), FunctionTransformer()][rng.integers(3)],
    )
    words: Any = OneHotEncoder(handle_unknown="ignore")
    if rng.random() < 0.7:
        fill = str(rng.choice(["most_frequent", "constant"]))
        filled = SimpleImputer(strategy=fill, fill_value="missing" if fill == "constant" else None)
        words = make_pipeline(filled, words)
    if rng.integers(2):
        words = FeatureUnion([("words", words), ("gaps", MissingIndicator(features="all"))])
    known = _worded(frame)
    others = [name for name in frame.columns if name not in known]
    model = [
        MLPClassifier((int(rng.integers(3, 7)),), max_iter=120, random_state=0),
        LogisticRegression(max_iter=500),
        Ridge(),
        MLPRegressor(hidden_layer_sizes=(4,), max_iter=150, random_state=0),
        RandomForestClassifier(_few(rng), max_depth=4, random_state=0),
    ][rng.integers(5)]
    split = ColumnTransformer([("words", words, known), ("numbers", numbers, others)])
    return fitted(rng, make_pipeline(split, model), columns, frame, pipeline=True)


def _direct(estimator: Callable[[Rng], Any]) -> Callable[[Rng, Path], Case]:
    """Return a maker of models on numbers and truth values alone."""

    def make(rng: Rng, folder: Path) -> Case:
        columns = [column for column in drawn_columns(rng) if column.kind != "words"]
        columns += [
            Column("one more", "whole", 0, 4),
            Column("member", "words", words=("no", "yes")),
        ]
        return fitted(rng, estimator(rng), columns, drawn_frame(rng, columns, truth=True))

    return make


def _trees(estimator: Callable[[Rng], Any], write: Any = None, **how: Any) -> Any:
    """Return a maker of trees on pandas categories, which read missing values."""

    def make(rng: Rng, folder: Path) -> Case:
        columns = drawn_columns(rng, plain=True, missing=bool(rng.random() < 0.5))
        model, file = estimator(rng), None
        frame = drawn_frame(rng, columns, sort=type(model).__name__.startswith("Hist"))
        if write is not None:
            file = partial(write, folder=folder, rng=rng)
        return fitted(rng, model, columns, frame, file=file, **how)

    return make


def _dummies(rng: Rng, folder: Path) -> Case:
    """Return a case whose model was fitted on ``pd.get_dummies`` of the frame."""
    columns = drawn_columns(rng)
    frame = drawn_frame(rng, columns)
    wide = pd.get_dummies(frame).columns
    model = [DecisionTreeClassifier(max_depth=4, random_state=0), LogisticRegression(max_iter=500)][
        rng.integers(2)
    ]

    def encoded(rows: pd.DataFrame) -> pd.DataFrame:
        return pd.get_dummies(rows).reindex(columns=wide, fill_value=False)

    return fitted(rng, model, columns, frame, encoded, one_hot=_worded(frame))


def _worded(frame: pd.DataFrame) -> list[str]:
    return [c for c in frame.columns if isinstance(frame[c].dtype, pd.CategoricalDtype)]


def _lightgbm(rng: Rng, *, regression: bool = False) -> Any:
    import lightgbm

    make = lightgbm.LGBMRegressor if regression else lightgbm.LGBMClassifier
    trees = int(rng.integers(2, 8))
    given = {"objective": "poisson"} if regression and trees % 2 else {}
    return make(
        n_estimators=trees, num_leaves=8, min_child_samples=5, verbose=-1, n_jobs=1, **given
    )


def _xgboost(rng: Rng) -> Any:
    import xgboost

    trees, depth = int(rng.integers(2, 7)), int(rng.integers(1, 4))
    return xgboost.XGBClassifier(
        n_estimators=trees, max_depth=depth, enable_categorical=True, n_jobs=1
    )


def _written(model: Any, folder: Path, rng: Rng) -> str:
    """Write a model of LightGBM or XGBoost to a file of its library."""
    kind = "txt" if hasattr(model, "booster_") else rng.choice(["json", "ubj"])
    path = folder / f"model.{kind}"
    getattr(model, "booster_", model).save_model(path)
    return str(path)


def _network(rng: Rng, folder: Path) -> Case:
    """Return a case of an ONNX file: weights that are small whole numbers make many ties."""
    columns = [
        replace(c, low=0.0, high=float(rng.integers(1, 9)), kind="whole", missing=False)
        if c.kind != "words"
        else c
        for c in drawn_columns(rng)
    ]
    if rng.random() < 0.4:
        columns[0] = replace(columns[0], kind="real", high=float(rng.choice([0.5, 4.0, 1024.0])))
    makes = {"whole": mv.integer, "real": mv.continuous}
    blocks = [len(c.words) > 2 and bool(rng.random() < 0.7) for c in columns]
    count, tied = int(rng.choice([1, 2, 3])), bool(rng.random() < 0.5)
    labels = [*map(str, LABELS[count == 3])] if rng.random() < 0.6 else []
    features, frame = [], dict[str, Any]()
    for column, block in zip(columns, blocks, strict=True):
        name, words, ends = column.name, column.words, (column.low, column.high)
        if not words:
            features.append(makes[column.kind](name, *ends, column.unit or None))
            grid = rng.integers(0, 257, 80) / 256 * column.high
            frame[name] = grid if column.kind == "real" else np.rint(grid).astype(int)
        else:
            one = mv.category(name, words, one_hot=block) if len(words) > 2 else None
            features.append(one or mv.binary(name, words))
            frame[name] = rng.choice(words, 80)

    def encoded(rows: pd.DataFrame) -> NDArray[np.float32]:
        parts = []
        for column, block in zip(columns, blocks, strict=True):
            seen = rows[column.name]
            codes = [column.words.index(v) if column.words else float(v) for v in seen]
            part = np.array(codes)[:, None]
            parts.append(part == np.arange(len(column.words)) if block else part)
        return np.concatenate(parts, axis=1).astype(np.float32)

    rows = pd.DataFrame(frame)
    path = folder / "model.onnx"
    sizes = [[count], [4, count]][rng.integers(2)] if tied else [4, count]
    onnx.save(dense(rng, encoded(rows), sizes, tied=tied), path)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    classes = tuple(labels) or tuple(f"class {place}" for place in range(max(count, 2)))

    def scores(rows: pd.DataFrame) -> NDArray[Any]:
        found = np.array([session.run(None, {"x": one[None]})[0][0] for one in encoded(rows)])
        return np.hstack([-found, found]) if count == 1 else found

    def predict(rows: pd.DataFrame) -> NDArray[Any]:
        found = scores(rows)
        best = found[:, 1] > 0 if count == 1 else found.argmax(axis=1)
        return np.array([classes[int(place)] for place in best], dtype=object)

    rules = drawn_rules(rng, columns, rows)
    inputs = mv.Inputs(features, [*rules], class_names=labels)
    return Case(tuple(columns), rows, str(path), inputs, predict, classes, scores, rules)


def dense(rng: Rng, x: Any, sizes: list[int], *, tied: bool) -> onnx.ModelProto:
    """Return a network with its ReLUs centred on the rows ``x``."""
    nodes, stored, name, width, rows = [], [], "x", x.shape[1], x.astype(np.float64)
    for place, size in enumerate(sizes):
        scale = np.maximum(np.abs(rows).max(axis=0), 1e-9)[:, None]
        matrix = rng.integers(-2, 3, (rows.shape[1], size)) if tied else rng.normal(
            size=(rows.shape[1], size)) / scale  # fmt: skip
        middle = (rows @ matrix).mean(axis=0)
        bias = -np.rint(middle) if tied else -middle
        for told, values in ((f"W{place}", matrix), (f"b{place}", bias)):
            stored.append(onnx.numpy_helper.from_array(values.astype(np.float32), told))
        last = place == len(sizes) - 1
        to = "scores" if last else f"z{place}"
        nodes.append(onnx.helper.make_node("Gemm", [name, f"W{place}", f"b{place}"], [to]))
        if not last:
            name = f"h{place}"
            nodes.append(onnx.helper.make_node("Relu", [to], [name]))
        rows = np.maximum(rows @ matrix + bias, 0.0)
    ends = [
        onnx.helper.make_tensor_value_info(told, onnx.TensorProto.FLOAT, [1, size])
        for told, size in (("x", width), ("scores", sizes[-1]))
    ]
    graph = onnx.helper.make_graph(nodes, "dense", ends[:1], ends[1:], stored)
    opset = [onnx.helper.make_opsetid("", 17)]
    return onnx.helper.make_model(graph, opset_imports=opset, ir_version=8)


def _message(rng: Rng, folder: Path) -> Case:
    """Return a case of a text pipeline: a message, of which words may go or come."""
    vectorizer = [CountVectorizer(), TfidfVectorizer()][rng.integers(2)]
    pipeline = make_pipeline(vectorizer, LogisticRegression(C=float(rng.choice([1, 100]))))
    pipeline.fit(MESSAGES, ["spam", "spam", "ham", "ham"])
    known = sorted(vectorizer.vocabulary_)
    words = rng.choice(known, int(rng.integers(2, 6))).tolist()
    text = f"{' '.join(words[:2]).upper()}, {' '.join(words[2:])}!"
    more = rng.choice(known, int(rng.integers(0, 3)), replace=False).tolist()
    message = mv.Message.of(pipeline, text, add=more)
    counts = dict(zip(message.words, message.counts.tolist(), strict=True))
    columns = [Column(word, "whole", 0.0, float(max(n, 1))) for word, n in counts.items()]
    frame = pd.DataFrame({word: [n, 0] for word, n in counts.items()})

    def texts(rows: pd.DataFrame) -> list[str]:
        told = rows.to_dict("records")
        return [" ".join(word for word, n in one.items() for _ in range(int(n))) for one in told]

    def predict(rows: pd.DataFrame) -> NDArray[Any]:
        return np.asarray(pipeline.predict(texts(rows)), dtype=object)

    def scores(rows: pd.DataFrame) -> NDArray[Any]:
        return np.asarray(pipeline.predict_proba(texts(rows)))

    classes = tuple(pipeline.classes_)
    return Case(
        tuple(columns), frame, message.network, None, predict, classes, scores, message=message
    )


def _few(rng: Rng) -> int:
    return int(rng.integers(2, 5))


def _hist(make: Any, rng: Rng) -> Any:
    return make(max_iter=_few(rng), max_leaf_nodes=6, categorical_features="from_dtype")


def _array(name: str) -> Callable[[Rng, Path], Case]:
    """Return a maker of cases without a description; they are made of what this module has."""

    def make(rng: Rng, folder: Path) -> Case:
        made: Case = getattr(import_module("statement_arrays"), name)(rng, folder)
        return made

    return make


KINDS: dict[str, Callable[[Rng, Path], Case]] = {
    "ONNX file": _network,
    "decision tree": _direct(
        lambda rng: DecisionTreeClassifier(max_depth=_few(rng), random_state=0)
    ),
    "LightGBM": _trees(_lightgbm),
    "pipeline, logistic": _piped(lambda rng: LogisticRegression(max_iter=500)),
    "XGBoost": _trees(_xgboost, coded=True),
    "pipeline, forest": _piped(
        lambda rng: RandomForestClassifier(_few(rng), max_depth=3, random_state=0)
    ),
    "get_dummies": _dummies,
    "HistGradientBoosting": _trees(partial(_hist, HistGradientBoostingClassifier)),
    "pipeline, ridge": _piped(lambda rng: Ridge()),
    "pipeline, network": _piped(
        lambda rng: MLPClassifier((_few(rng),), max_iter=400, random_state=0)
    ),
    "XGBoost file": _trees(_xgboost, _written, coded=True),
    "boosting": _direct(
        lambda rng: GradientBoostingClassifier(n_estimators=4, max_depth=2, random_state=0)
    ),
    "message": _message,
    "LightGBM file": _trees(_lightgbm, _written),
    "LightGBM regression": _trees(partial(_lightgbm, regression=True)),
    "search": _piped(
        lambda rng: GridSearchCV(
            DecisionTreeClassifier(random_state=0), {"max_depth": [2, 3]}, cv=2
        )
    ),
    "pipeline, network regression": _piped(
        lambda rng: MLPRegressor(hidden_layer_sizes=(3,), max_iter=400, random_state=0)
    ),
    "extra trees": _direct(lambda rng: ExtraTreesClassifier(3, max_depth=3, random_state=0)),
    "pipeline, support vectors": _piped(lambda rng: LinearSVC(random_state=0)),
    "logistic": _direct(lambda rng: LogisticRegression(max_iter=500)),
    "tree regression": _direct(lambda rng: DecisionTreeRegressor(max_depth=3, random_state=0)),
    "boosting regression": _trees(partial(_hist, HistGradientBoostingRegressor)),
    "array, network": _array("network_array"),
    "image, network": _array("network_image"),
    "array, scikit-learn": _array("fitted_array"),
    "pipeline, imputers": _imputed,
}
"""Functions that make a case of each kind of model."""
