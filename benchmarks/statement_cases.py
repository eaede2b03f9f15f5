"""Tables, models of every kind that is read, and how their owner predicts.

A case is what a user has: a frame, a model fitted on it, and its own ``predict``. What the library
gets is the model (or its file) and a description; what the judge believes is the frame and
``predict`` alone.
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
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
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import milp_verix as mv

Rng: TypeAlias = np.random.Generator
Predict: TypeAlias = Callable[[pd.DataFrame], NDArray[Any]]

NAMES = (
    *("age", "income", "years in job", "Größe", "дом", "年收入", "ΔT", "rate per hour", "is member"),
    *("with debt", "50 % share", "feature 1", "7", "sex", "x within y", "net-income (after tax)"),
    *("the longest name of a column that anybody has ever given", "at most", "Ω_2", "ok?"),
)
ODD_NAMES = ("debt, total", "rise and fall", "a “quoted” name", "to: whom", "one, two and three")
"""Names with signs that sentences are made of; LightGBM and XGBoost refuse some of them."""

WORDS = (
    ("female", "male"),
    ("sales", "cook", "nurse"),
    ("grün", "weiß", "süß", "öd"),
    ("да", "нет", "может быть"),
    ("北京", "上海", "广州", "深圳"),
    ("fixed-term", "permanent", "none", "self-employed"),
    ("black and white", "red, or blue", "no"),
    ("A", "B", "C", "D", "E", "F", "G", "H", "I"),
    ("rises", "falls", "as it is"),
)
UNITS = ("years", "€", "kg per m²", "thousand a year", "°C")
LABELS: tuple[tuple[Any, ...], ...] = (
    ("refused", "granted"),
    ("refused", "granted", "pending"),
    ("no", "yes"),
    ("нет", "да"),
    ("bad luck", "not “so” bad", "it’s fine, and good"),
    (5, 6),
    (3, 7, 9),
    (False, True),
    (0, 1),
    (0, 1, 2),
)


@dataclass(frozen=True)
class Column:
    """A column as its owner knows it: whole or real numbers between two ends, or words."""

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
    """A frame, a model of ``kind``, its description, and what its owner's ``predict`` says.

    ``predict`` returns a name for each row as ``classes`` has them, or a number. ``scores`` returns
    an array (rows, classes). ``rules`` are texts with the rows that satisfy each.
    """

    kind: str
    columns: tuple[Column, ...]
    frame: pd.DataFrame
    model: Any
    inputs: Any
    predict: Predict
    classes: tuple[str, ...] = ()
    scores: Predict | None = None
    rules: Mapping[str, Callable[[pd.DataFrame], NDArray[np.bool_]]] = field(default_factory=dict)
    files: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns that are described."""
        return tuple(column.name for column in self.columns)

    def column(self, name: str) -> Column:
        """Return a column by its name."""
        return next(column for column in self.columns if column.name == name)

    def own(self, row: int) -> dict[str, Any]:
        """Return the values of a row of the frame: numbers, words, None for a missing one."""
        return {name: cell(self.frame[name].iloc[row]) for name in self.names}

    def table(self, values: Mapping[str, Any]) -> pd.DataFrame:
        """Return columns of values as a frame with the types of the user's own."""
        made = {}
        for name in self.frame.columns:
            column, seen = self.frame[name], list(values.get(name, ()))
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
    if isinstance(value, str):
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


def drawn_columns(rng: Rng, *, plain: bool, missing: bool, most: int = 6) -> list[Column]:
    """Return random columns, at least one of numbers and one of words.

    ``plain`` leaves out names that libraries of trees refuse.
    """
    count = int(rng.integers(3, most))
    known = NAMES if plain else (*NAMES, *ODD_NAMES, *ODD_NAMES)
    names = rng.choice([*dict.fromkeys(known)], count, replace=False).tolist()
    kinds = ["whole", "words", *rng.choice(["whole", "real", "words", "yes or no"], count - 2)]
    columns = []
    for name, kind in zip(names, kinds, strict=True):
        may = missing and bool(rng.random() < 0.4)
        unit = str(rng.choice(UNITS)) if rng.random() < 0.3 else ""
        if kind == "words":
            words = WORDS[int(rng.integers(len(WORDS)))]
            columns.append(Column(name, "words", words=words, missing=may))
        elif kind == "yes or no":
            columns.append(Column(name, "words", words=("no", "yes")))
        elif kind == "whole":
            low = float(rng.choice([0, 1, 18, -5, 1_000_000, 17000]))
            width = float(rng.choice([1, 3, 9, 40, 5000]))
            columns.append(Column(name, "whole", low, low + width, unit=unit, missing=may))
        else:
            scale = float(10.0 ** rng.integers(-5, 7))
            low = float(rng.choice([0.0, -scale, 100 * scale]))
            columns.append(Column(name, "real", low, low + scale, unit=unit, missing=may))
    return columns


def drawn_frame(
    rng: Rng, columns: list[Column], rows: int = 160, *, truth: bool = False, sort: bool = False
) -> pd.DataFrame:
    """Return rows; numbers have few digits in some columns, and all of them in others.

    With ``truth`` yes and no are truth values always; ``sort`` puts words in their order.
    """
    made: dict[str, Any] = {}
    for column in rng.permutation(np.array(columns, dtype=object)):
        if column.words == ("no", "yes") and (truth or rng.random() < 0.7):
            made[column.name] = rng.random(rows) < 0.5
        elif column.kind == "words":
            drawn = rng.choice(column.words, rows).astype(object)
            drawn[: len(column.words)] = column.words
            if column.missing:
                drawn[rows // 2 :][rng.random(rows - rows // 2) < 0.3] = None
            words = sorted(column.words) if sort else column.words
            made[column.name] = pd.Categorical(drawn, categories=words)
        else:
            numbers = rng.uniform(column.low, column.high, rows)
            if column.kind == "whole":
                numbers = np.rint(numbers)
            elif rng.random() < 0.6:
                digits = 2 - int(np.floor(np.log10(column.high - column.low)))
                numbers = np.round(numbers, digits + int(rng.integers(0, 3)))
            if column.missing:
                numbers[rng.random(rows) < 0.2] = np.nan
            whole = column.kind == "whole" and not column.missing
            made[column.name] = numbers.astype(int) if whole else numbers
    return pd.DataFrame(made)


def described(rng: Rng, columns: list[Column], frame: pd.DataFrame) -> tuple[Column, ...]:
    """Return the columns as a description of ``frame`` has them: ends of the data, any order."""
    found = []
    for column in columns:
        seen = frame[column.name]
        if column.kind != "words":
            real = seen.dtype.kind == "f"
            low, high = float(seen.min()), float(seen.max())
            spread = float(np.std(seen.dropna().to_numpy(np.float64)))
            kind = "real" if real else "whole"
            column = replace(column, kind=kind, low=low, high=high, deviation=spread)
        found.append(column)
    return tuple(found[place] for place in rng.permutation(len(found)))


def drawn_score(rng: Rng, frame: pd.DataFrame) -> NDArray[np.float64]:
    """Return a number for each row on which labels depend: effects of columns, one interaction."""
    parts = []
    for name in frame.columns:
        seen = frame[name]
        if isinstance(seen.dtype, pd.CategoricalDtype):
            effects = rng.normal(size=len(seen.cat.categories) + 1)
            parts.append(effects[seen.cat.codes])
        else:
            numbers = seen.astype(float).fillna(seen.astype(float).mean())
            spread = float(numbers.std()) or 1.0
            parts.append(rng.normal() * ((numbers - numbers.mean()) / spread).to_numpy())
    total = np.sum(parts, axis=0) + parts[0] * parts[-1]
    return np.asarray(total + 0.3 * rng.normal(size=len(frame)))


def labelled(rng: Rng, frame: pd.DataFrame, labels: tuple[Any, ...]) -> NDArray[Any]:
    """Return a label for each row, by the rank of its score."""
    score = drawn_score(rng, frame)
    cuts = np.quantile(score, np.linspace(0, 1, len(labels) + 1)[1:-1])
    return np.array(labels)[np.searchsorted(cuts, score)]


def told_classes(classes: Any) -> tuple[str, ...]:
    """Return classes as texts name them: 0, 1, … are numbers, all others have their own names."""
    listed = [value.item() if hasattr(value, "item") else value for value in classes]
    numbered = listed == [*range(len(listed))] and not any(isinstance(v, bool) for v in listed)
    return tuple(f"class {v}" if numbered else str(v) for v in listed)


def _drawn_rules(
    rng: Rng, columns: tuple[Column, ...], frame: pd.DataFrame
) -> dict[str, Callable[[pd.DataFrame], NDArray[np.bool_]]]:
    """Return a rule over two columns of numbers, or none."""
    whole = [c for c in columns if c.kind == "whole" and not c.missing and c.name.isidentifier()]
    if len(whole) < 2 or rng.random() < 0.3:
        return {}
    one, other = whole[0].name, whole[1].name
    gap = int(np.quantile((frame[one] - frame[other]).to_numpy(), 0.2))
    text = f"{one} >= {other} {'+' if gap >= 0 else '-'} {abs(gap)}"
    return {text: lambda rows: (rows[one] - rows[other]).to_numpy() >= gap}


def _fitted(
    rng: Rng,
    model: Any,
    columns: list[Column],
    frame: pd.DataFrame,
    *,
    pipeline: bool = False,
    coded: bool = False,
    file: Callable[[Any], Any] | None = None,
) -> Case:
    """Return the case of a classifier on ``frame``.

    ``coded`` labels are 0, 1, …, named by the description; ``file`` writes the model.
    """
    labels = LABELS[int(rng.integers(len(LABELS)))]
    target: Any = labelled(rng, frame, labels)
    names = [str(label) for label in labels] if coded or file else []
    if coded:
        target = np.array([labels.index(one) for one in target.tolist()])
    model.fit(frame, target)
    classes = tuple(names) if coded else told_classes(model.classes_)
    if names and not coded:
        classes = tuple(names := [str(one) for one in model.classes_])
    found = described(rng, columns, frame)
    rules = _drawn_rules(rng, found, frame)
    units = {column.name: column.unit for column in found if column.unit}
    missing = [column.name for column in found if column.missing]
    if pipeline:
        inputs = mv.Inputs.from_pipeline(model, frame, units=units, rules=[*rules])
    else:
        inputs = mv.Inputs.from_frame(
            frame[[column.name for column in found]],
            units=units,
            missing=missing,
            rules=[*rules],
            class_names=names,
        )
    found = tuple(sorted(found, key=lambda column: inputs.names.index(column.name)))
    order = {str(value): place for place, value in enumerate(model.classes_)}
    scored = getattr(model, "predict_proba", None) or model.decision_function

    def predict(rows: pd.DataFrame) -> NDArray[Any]:
        told = [classes[order[str(one)]] for one in model.predict(rows[frame.columns])]
        return np.array(told, dtype=object)

    def scores(rows: pd.DataFrame) -> NDArray[Any]:
        return np.asarray(scored(rows[frame.columns]))

    given = file(model) if file else model
    return Case(
        "", found, frame, given, inputs, predict, classes, scores, rules, files=file is not None
    )


def _regression(
    rng: Rng, model: Any, columns: list[Column], frame: pd.DataFrame, *, pipeline: bool = False
) -> Case:
    scale = float(10.0 ** rng.integers(-2, 4))
    model.fit(frame, scale * drawn_score(rng, frame) + scale * float(rng.integers(0, 3)))
    found = described(rng, columns, frame)
    units = {column.name: column.unit for column in found if column.unit}
    missing = [column.name for column in found if column.missing]
    if pipeline:
        inputs = mv.Inputs.from_pipeline(model, frame, units=units)
        found = tuple(sorted(found, key=lambda column: inputs.names.index(column.name)))
    else:
        shown = frame[[column.name for column in found]]
        inputs = mv.Inputs.from_frame(shown, units=units, missing=missing)

    def predict(rows: pd.DataFrame) -> NDArray[Any]:
        return np.asarray(model.predict(rows[frame.columns]), dtype=np.float64).reshape(-1)

    return Case("", found, frame, model, inputs, predict)


def _encoder(rng: Rng, frame: pd.DataFrame) -> ColumnTransformer:
    words = [c for c in frame.columns if isinstance(frame[c].dtype, pd.CategoricalDtype)]
    encoder = [OneHotEncoder(), OrdinalEncoder(), OneHotEncoder(drop="first")][rng.integers(3)]
    numbers = [StandardScaler(), MinMaxScaler(), "passthrough"][rng.integers(3)]
    return ColumnTransformer([("words", encoder, words)], remainder=numbers)


def _piped(estimator: Callable[[Rng], Any], *, regression: bool = False) -> Any:
    def make(rng: Rng, folder: Path) -> Case:
        columns = drawn_columns(rng, plain=False, missing=False)
        frame = drawn_frame(rng, columns)
        model = make_pipeline(_encoder(rng, frame), estimator(rng))
        made = _regression if regression else _fitted
        return made(rng, model, columns, frame, pipeline=True)

    return make


def _direct(estimator: Callable[[Rng], Any]) -> Any:
    """Return a case of numbers alone: the model knows names, and no pipeline does."""

    def make(rng: Rng, folder: Path) -> Case:
        columns = [c for c in drawn_columns(rng, plain=False, missing=False) if c.kind != "words"]
        columns.append(Column("one more", "whole", 0, 4))
        columns.append(Column("member", "words", words=("no", "yes")))
        frame = drawn_frame(rng, columns, truth=True)
        model = estimator(rng)
        if isinstance(model, DecisionTreeRegressor):
            return _regression(rng, model, columns, frame)
        return _fitted(rng, model, columns, frame)

    return make


def _categories(estimator: Callable[[Rng], Any], *, regression: bool = False, **how: Any) -> Any:
    """Return a case of pandas categories and missing values, which trees read themselves."""

    def make(rng: Rng, folder: Path) -> Case:
        columns = drawn_columns(rng, plain=True, missing=bool(rng.random() < 0.5))
        model = estimator(rng)
        frame = drawn_frame(rng, columns, sort=type(model).__name__.startswith("Hist"))
        if regression:
            return _regression(rng, model, columns, frame)
        writer, given = how.get("writer"), {k: v for k, v in how.items() if k != "writer"}
        file = None if writer is None else lambda model: writer(model, folder, rng)
        return _fitted(rng, model, columns, frame, file=file, **given)

    return make


def _lightgbm(rng: Rng, *, regression: bool = False) -> Any:
    import lightgbm

    make = lightgbm.LGBMRegressor if regression else lightgbm.LGBMClassifier
    trees = int(rng.integers(2, 8))
    return make(n_estimators=trees, num_leaves=8, min_child_samples=5, verbose=-1, n_jobs=1)


def _xgboost(rng: Rng) -> Any:
    import xgboost

    trees, depth = int(rng.integers(2, 7)), int(rng.integers(1, 4))
    return xgboost.XGBClassifier(
        n_estimators=trees, max_depth=depth, enable_categorical=True, n_jobs=1
    )


def _lightgbm_file(model: Any, folder: Path, rng: Rng) -> str:
    path = folder / "model.txt"
    model.booster_.save_model(path)
    return str(path)


def _xgboost_file(model: Any, folder: Path, rng: Rng) -> str:
    path = folder / f"model.{rng.choice(['json', 'ubj'])}"
    model.save_model(path)
    return str(path)


def _dummies(rng: Rng, folder: Path) -> Case:
    """Return a case whose model was fitted on ``pd.get_dummies`` of the frame."""
    columns = drawn_columns(rng, plain=False, missing=False)
    frame = drawn_frame(rng, columns)
    wide = pd.get_dummies(frame)
    labels = LABELS[int(rng.integers(len(LABELS)))]
    model = [DecisionTreeClassifier(max_depth=4), LogisticRegression(max_iter=500)][rng.integers(2)]
    model.fit(wide, labelled(rng, frame, labels))
    found, classes = described(rng, columns, frame), told_classes(model.classes_)
    words = [c for c in frame.columns if isinstance(frame[c].dtype, pd.CategoricalDtype)]
    inputs = mv.Inputs.from_frame(
        frame[[column.name for column in found]],
        one_hot=words,
        units={column.name: column.unit for column in found if column.unit},
    )
    order = {str(value): place for place, value in enumerate(model.classes_)}

    def encoded(rows: pd.DataFrame) -> pd.DataFrame:
        return pd.get_dummies(rows).reindex(columns=wide.columns, fill_value=False)

    def predict(rows: pd.DataFrame) -> NDArray[Any]:
        told = [classes[order[str(one)]] for one in model.predict(encoded(rows))]
        return np.array(told, dtype=object)

    def scores(rows: pd.DataFrame) -> NDArray[Any]:
        return np.asarray(model.predict_proba(encoded(rows)))

    return Case("", found, frame, model, inputs, predict, classes, scores)


def _network(rng: Rng, folder: Path) -> Case:
    """Return a case of an ONNX file: weights that are small whole numbers make many ties."""
    columns = [
        replace(c, low=0.0, high=float(rng.integers(1, 9)), kind="whole")
        if c.kind != "words"
        else c
        for c in drawn_columns(rng, plain=False, missing=False)
    ]
    if rng.random() < 0.4:
        columns[0] = replace(columns[0], kind="real", high=float(rng.choice([0.5, 4.0, 1024.0])))
    blocks = [c.kind == "words" and len(c.words) > 2 and rng.random() < 0.7 for c in columns]
    widths = [len(c.words) if block else 1 for c, block in zip(columns, blocks, strict=True)]
    count = int(rng.choice([1, 2, 3]))
    tied = bool(rng.random() < 0.5)
    hidden = 0 if tied and rng.random() < 0.5 else 4
    sizes = [sum(widths), *([hidden] if hidden else []), count]
    weights = []
    for a, b in zip(sizes, sizes[1:], strict=False):
        drawn = rng.integers(-2, 3, (a, b)) if tied else rng.normal(size=(a, b))
        weights.append(drawn.astype(np.float32))
    wide = np.concatenate(
        [np.full(w, max(c.high, 1.0)) for c, w in zip(columns, widths, strict=True)]
    )
    if not tied:
        weights[0] = (weights[0] / wide[:, None]).astype(np.float32)
    names = [f"name {place}" for place in range(max(count, 2))] if rng.random() < 0.6 else []
    names = list(map(str, LABELS[1 if count == 3 else 0])) if names else []

    def encoded(rows: pd.DataFrame) -> NDArray[np.float32]:
        parts = []
        for column, block in zip(columns, blocks, strict=True):
            seen = rows[column.name]
            if column.kind != "words":
                parts.append(seen.to_numpy(np.float64)[:, None])
                continue
            codes = np.array([column.words.index(word) for word in seen])[:, None]
            parts.append(codes == np.arange(len(column.words)) if block else codes)
        return np.concatenate(parts, axis=1).astype(np.float32)

    frame = _words_frame(rng, columns)
    middle = encoded(frame).astype(np.float64) @ weights[0]
    biases = [-np.rint(middle.mean(axis=0)) if tied else -middle.mean(axis=0)]
    if hidden:
        after = np.maximum(middle + biases[0], 0) @ weights[1]
        biases.append(-np.rint(after.mean(axis=0)) if tied else -after.mean(axis=0))
    path = folder / "model.onnx"
    onnx.save(_dense(weights, [b.astype(np.float32) for b in biases]), path)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    classes = tuple(names) or tuple(f"class {place}" for place in range(max(count, 2)))

    def scores(rows: pd.DataFrame) -> NDArray[Any]:
        run = [session.run(None, {"x": one[None]})[0][0] for one in encoded(rows)]
        found = np.array(run)
        return np.hstack([-found, found]) if count == 1 else found

    def predict(rows: pd.DataFrame) -> NDArray[Any]:
        found = scores(rows)
        best = found[:, 1] > 0 if count == 1 else found.argmax(axis=1)
        return np.array([classes[int(place)] for place in best], dtype=object)

    kinds = []
    for column, block in zip(columns, blocks, strict=True):
        if column.kind == "words":
            two = len(column.words) == 2
            kinds.append(
                mv.binary(column.name, column.words)
                if two
                else mv.category(column.name, column.words, one_hot=block)
            )
        else:
            make = mv.integer if column.kind == "whole" else mv.continuous
            kinds.append(make(column.name, column.low, column.high, column.unit or None))
    found = tuple(columns)
    rules = _drawn_rules(rng, found, frame)
    inputs = mv.Inputs(kinds, [*rules], class_names=names)
    return Case("", found, frame, str(path), inputs, predict, classes, scores, rules, files=True)


def _words_frame(rng: Rng, columns: list[Column], rows: int = 80) -> pd.DataFrame:
    made: dict[str, Any] = {}
    for column in columns:
        if column.kind == "words":
            made[column.name] = rng.choice(column.words, rows)
        elif column.kind == "whole":
            made[column.name] = rng.integers(int(column.low), int(column.high) + 1, rows)
        else:
            made[column.name] = rng.integers(0, 257, rows) / 256 * column.high
    return pd.DataFrame(made)


def _dense(weights: list[Any], biases: list[Any]) -> onnx.ModelProto:
    nodes, stored, name = [], [], "x"
    for place, (matrix, bias) in enumerate(zip(weights, biases, strict=True)):
        stored.append(onnx.numpy_helper.from_array(matrix, f"W{place}"))
        stored.append(onnx.numpy_helper.from_array(bias, f"b{place}"))
        last = place == len(weights) - 1
        to = "scores" if last else f"z{place}"
        nodes.append(onnx.helper.make_node("Gemm", [name, f"W{place}", f"b{place}"], [to]))
        name = to
        if not last:
            nodes.append(onnx.helper.make_node("Relu", [to], [f"h{place}"]))
            name = f"h{place}"
    ends = [
        onnx.helper.make_tensor_value_info(told, onnx.TensorProto.FLOAT, [1, size])
        for told, size in (("x", weights[0].shape[0]), ("scores", weights[-1].shape[1]))
    ]
    graph = onnx.helper.make_graph(nodes, "dense", ends[:1], ends[1:], stored)
    opset = [onnx.helper.make_opsetid("", 17)]
    return onnx.helper.make_model(graph, opset_imports=opset, ir_version=8)


def _small(rng: Rng) -> tuple[int, int]:
    return int(rng.integers(2, 5)), int(rng.integers(1000))


KINDS: dict[str, Callable[[Rng, Path], Case]] = {
    "ONNX file": _network,
    "decision tree": _direct(lambda rng: DecisionTreeClassifier(max_depth=_small(rng)[0])),
    "LightGBM": _categories(_lightgbm),
    "pipeline, logistic": _piped(lambda rng: LogisticRegression(max_iter=500)),
    "XGBoost": _categories(_xgboost, coded=True),
    "pipeline, forest": _piped(
        lambda rng: RandomForestClassifier(_small(rng)[0], max_depth=3, random_state=0)
    ),
    "get_dummies": _dummies,
    "HistGradientBoosting": _categories(
        lambda rng: HistGradientBoostingClassifier(
            max_iter=_small(rng)[0], max_leaf_nodes=6, categorical_features="from_dtype"
        )
    ),
    "pipeline, ridge": _piped(lambda rng: Ridge(), regression=True),
    "pipeline, network": _piped(
        lambda rng: MLPClassifier((_small(rng)[0],), max_iter=400, random_state=_small(rng)[1])
    ),
    "XGBoost file": _categories(_xgboost, coded=True, writer=_xgboost_file),
    "boosting": _direct(lambda rng: GradientBoostingClassifier(n_estimators=4, max_depth=2)),
    "LightGBM file": _categories(_lightgbm, writer=_lightgbm_file),
    "LightGBM regression": _categories(
        lambda rng: _lightgbm(rng, regression=True), regression=True
    ),
    "search": _piped(
        lambda rng: GridSearchCV(DecisionTreeClassifier(), {"max_depth": [2, 3]}, cv=2)
    ),
    "pipeline, network regression": _piped(
        lambda rng: MLPRegressor(hidden_layer_sizes=(3,), max_iter=400, random_state=_small(rng)[1]), regression=True
    ),
    "extra trees": _direct(lambda rng: ExtraTreesClassifier(3, max_depth=3, random_state=0)),
    "pipeline, support vectors": _piped(lambda rng: LinearSVC()),
    "logistic": _direct(lambda rng: LogisticRegression(max_iter=500)),
    "tree regression": _direct(lambda rng: DecisionTreeRegressor(max_depth=3)),
    "boosting regression": _categories(
        lambda rng: HistGradientBoostingRegressor(
            max_iter=_small(rng)[0], max_leaf_nodes=6, categorical_features="from_dtype"
        ),
        regression=True,
    ),
}
"""How to make a case of each kind of model."""
