"""Sentences read back, and put to the user's own ``predict`` on her own row, with their numbers.

The numbers of a change change the prediction; those of a range are proven, the ends that are told
among them. The parser is of this file, and reads nothing but the text.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import onnxruntime
import pytest

import milp_verix
from milp_verix import Inputs, Problem, Search, continuous
from milp_verix.base.number_text import nearest
from milp_verix.inputs.feature import Feature
from tests.support.onnx_models import DOUBLE, FLOAT
from tests.support.random_networks import dense_model, random_layers

NUMBER = r"(-?\d+(?:\.\d+)?(?:e-?\d+)?)"
NAMES = "abc"
LIMITED = Search(time_limit=10.0)
Predict = Callable[[dict[str, float]], Any]


def told_changes(text: str) -> dict[str, float]:
    """Return the values that a sentence changes to, by name."""
    return {
        name: float(after) for name, _, after in re.findall(rf"(\w): {NUMBER} → {NUMBER}", text)
    }


def told_range(text: str, name: str) -> tuple[str, float | None, str, float | None] | None:
    """Return the words and the numbers of both ends; None if ``text`` keeps no such range."""
    if found := re.search(
        rf"\b{name} is (?:between|anything from) {NUMBER} (?:and|to) {NUMBER}", text
    ):
        return "at least", float(found[1]), "at most", float(found[2])
    ends = rf"(?:(at least|above) {NUMBER})?(?: and )?(?:(at most|below) {NUMBER})?"
    found = re.search(rf"\b{name} is {ends}", text)
    if found is not None and (found[1] or found[3]):
        low, high = (None if one is None else float(one) for one in (found[2], found[4]))
        return found[1] or "", low, found[3] or "", high
    if found := re.search(rf"\b{name} is {NUMBER}", text):
        return "at least", float(found[1]), "at most", float(found[1])
    return None


class Asked:
    """A model with a described table, its user's own ``predict``, and one of her rows."""

    def __init__(self, network: Any, x: dict[str, float], inputs: Inputs, predict: Predict) -> None:
        self.problem = Problem(network, x, inputs=inputs, epsilon="25%")
        self.x, self.predict, self.own = x, predict, predict(x)

    def sentences(self) -> Iterator[str]:
        """Yield sentences that tell a change, of every kind of result that has some."""
        ask = self.problem
        explained = ask.explain(search=LIMITED)
        yield from (explained.sentence(feature) for feature in explained.counterfactuals)
        for minimise in ("features", "distance"):
            found = ask.contrastive(minimise=minimise, count=2, search=LIMITED)
            if found.counterfactual is not None:
                yield from found.sentence().split(" Or: ")
                if minimise == "distance" and found.proven:
                    assert found.gap <= 1e-3 * found.distance
        for one in (ask.check([*NAMES], search=LIMITED), ask.audit(["a"], search=LIMITED)):
            if "→" in one.sentence():
                yield one.sentence()
        radius = milp_verix.robustness_radius(
            ask.network, self.x, inputs=ask.inputs, scale="100%", time_limit=10.0
        )
        if radius.bracket.counterfactual is not None:
            yield radius.sentence()

    def wrong(self) -> list[str]:
        """Return the sentences that the user's own prediction refutes."""
        refuted = []
        for text in self.sentences():
            changes = told_changes(text)
            assert changes, text
            if self.predict({**self.x, **changes}) == self.own:
                refuted.append(text)
        return refuted

    def outside(self, draw: np.random.Generator, kind: Any) -> list[str]:
        """Return the sentence on ranges if a row in them has another prediction."""
        found = self.problem.inflate(search=LIMITED)
        text, ball = found.sentence(), self.problem.ball
        ends = {}
        for place, name in enumerate(NAMES):
            low, high = ball.outer.lower[place], ball.outer.upper[place]
            if (told := told_range(text, name)) is not None:
                low = ball.domain_lower[place] if told[1] is None else told[1]
                high = ball.domain_upper[place] if told[3] is None else told[3]
                low = np.nextafter(kind(low), kind(high)) if told[0] == "above" else low
                high = np.nextafter(kind(high), kind(low)) if told[2] == "below" else high
            elif place in found.explanation:
                return []  # nothing is proven
            ends[name] = float(low), float(high)
        for _ in range(30):
            way = {name: draw.choice(3) for name in NAMES}
            row = {
                name: (low, high, low + draw.random() * (high - low))[way[name]]
                for name, (low, high) in ends.items()
            }
            if self.predict(row) != self.own:
                return [f"{text}: {row}"]
        return []


def _table(rng: np.random.Generator, scales: list[float]) -> tuple[Any, Any]:
    """Return columns of numbers with many digits, on ``scales``, and classes."""
    pandas = pytest.importorskip("pandas")
    plain = rng.normal(size=(150, len(NAMES)))
    chosen = rng.choice(scales, len(NAMES))
    return pandas.DataFrame(plain * chosen, columns=[*NAMES]), (plain @ [1.0, -1.0, 0.5] > 0) * 1


def _trees(library: str, name: str, **options: Any) -> Callable[[], Any]:
    return lambda: getattr(pytest.importorskip(library), name)(**options)


def _pipeline(library: str, name: str, **options: Any) -> Callable[[], Any]:
    def made() -> Any:
        pipeline = pytest.importorskip("sklearn.pipeline")
        scaler = pytest.importorskip("sklearn.preprocessing").StandardScaler()
        return pipeline.make_pipeline(scaler, _trees(library, name, **options)())

    return made


SINGLE = [1e-30, 1e-5, 1.0, 1e5, 1e30]
WIDE = [1e-200, 1e-30, 1.0, 1e28, 1e150]
PLAIN = [1e-5, 1.0, 1e5]
MODELS: dict[str, tuple[Callable[[], Any], list[float], Any]] = {
    "tree": (_trees("sklearn.tree", "DecisionTreeClassifier", max_depth=4), SINGLE, np.float32),
    "forest": (
        _trees("sklearn.ensemble", "RandomForestClassifier", n_estimators=6, max_depth=4),
        SINGLE,
        np.float32,
    ),
    "histogram": (
        _trees("sklearn.ensemble", "HistGradientBoostingClassifier", max_iter=6, max_depth=3),
        WIDE,
        np.float64,
    ),
    "lightgbm": (
        _trees("lightgbm", "LGBMClassifier", n_estimators=6, verbose=-1, n_jobs=1),
        [1e-5, 1.0, 1e5, 1e30],
        np.float64,
    ),
    "xgboost": (
        _trees("xgboost", "XGBClassifier", n_estimators=6, max_depth=3, n_jobs=1),
        SINGLE,
        np.float32,
    ),
    "linear": (_pipeline("sklearn.linear_model", "LogisticRegression"), PLAIN, np.float64),
    "perceptron": (
        _pipeline("sklearn.neural_network", "MLPClassifier", hidden_layer_sizes=(5,), max_iter=60),
        PLAIN,
        np.float64,
    ),
}


def fitted(name: str, seed: int) -> Asked:
    make, scales, _ = MODELS[name]
    rng = np.random.default_rng(seed)
    frame, classes = _table(rng, scales)
    model = make()
    with np.errstate(all="ignore"):
        model.fit(frame, classes)
    row = frame.iloc[[int(rng.integers(len(frame)))]]

    def predict(values: dict[str, float]) -> int:
        changed = row.copy()
        for column, value in values.items():
            changed[column] = value
        return int(model.predict(changed)[0])

    network = milp_verix.load_network(model, example=frame)
    return Asked(network, row.iloc[0].to_dict(), Inputs.from_frame(frame), predict)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("name", MODELS)
def test_what_is_told_of_a_fitted_model_holds(name: str, seed: int) -> None:
    asked = fitted(name, seed)
    assert asked.wrong() == []
    assert asked.outside(np.random.default_rng(seed), MODELS[name][2]) == []


@pytest.mark.parametrize("seed", range(100))
def test_what_is_told_of_a_network_holds(seed: int) -> None:
    """Of float32 and of float64, on scales on which neighbours in float32 are far apart."""
    rng = np.random.default_rng(seed)
    kind, elem = [(np.float32, FLOAT), (np.float64, DOUBLE)][seed % 2]
    scales = 10.0 ** rng.choice([-12, 0, 7] if kind == np.float32 else [-100, 0, 30], len(NAMES))
    (first, bias), *others = random_layers(rng, (len(NAMES), 5, 2), elem)
    model = dense_model([((first / scales).astype(kind).astype(np.float64), bias), *others], elem)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    (given,) = session.get_inputs()

    def predict(values: dict[str, float]) -> int:
        row = np.array([[values[name] for name in NAMES]], dtype=kind)
        return int(np.argmax(session.run(None, {given.name: row})[0]))

    x = dict(zip(NAMES, rng.random(len(NAMES)) * scales, strict=True))
    inputs = Inputs([continuous(name, 0, s) for name, s in zip(NAMES, scales, strict=True)])
    asked = Asked(model, x, inputs, predict)
    assert asked.wrong() == []
    assert asked.outside(rng, kind) == []


def test_kept_values_are_those_of_the_row() -> None:
    """In the type of the network: what is told is read back as the number that it runs on."""
    rng = np.random.default_rng(1)
    model = dense_model(random_layers(rng, (3, 4, 2)))
    x = dict(zip(NAMES, rng.random(3), strict=True))
    found = Problem(model, x, inputs=[continuous(name, 0, 1) for name in NAMES], epsilon=0.5).check(
        ["a"]
    )
    values = dict(re.findall(rf"(\w) is {NUMBER}", found.sentence()))
    pairs = re.findall(rf"(\w): {NUMBER} → {NUMBER}", found.sentence())
    changed = {name: before for name, before, _ in pairs}
    for name, text in {**values, **changed}.items():
        assert np.float32(float(text)) == np.float32(x[name])
    assert values or changed


def test_a_number_that_is_told_has_the_fewest_digits_that_work() -> None:
    """A threshold between two numbers of the table: 15200 has to become less."""
    lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    pandas = pytest.importorskip("pandas")
    last = 15199.999511718748
    frame = pandas.DataFrame({"amount": np.repeat([14300.0, last, 15200.0, 17000.0], 30)})
    options = {"n_estimators": 1, "min_child_samples": 1, "verbose": -1, "n_jobs": 1}
    model = lightgbm.LGBMClassifier(**options).fit(frame, frame["amount"] >= 15200)

    def kept(amount: float) -> bool:
        return bool(model.predict(pandas.DataFrame({"amount": [amount]}))[0])

    inputs = Inputs.from_frame(frame)
    for minimise, told in (("features", 15000.0), ("distance", None)):
        found = milp_verix.contrastive(
            model, frame.iloc[80], epsilon="inf", inputs=inputs, minimise=minimise
        )
        (text,) = re.findall(rf"amount: 15200 → {NUMBER}", found.sentence())
        assert not kept(float(text))
        assert told in (None, float(text))
        if told is None:  # a ten thousandth nearer or farther, and the claim is another one
            assert found.proven
            allowed = found.lower_bound / (1 - 1e-3) * found.scales[0]
            for digits in range(1, len(text.replace(".", "").strip("0"))):
                shorter = float(f"{float(text):.{digits}g}")
                assert kept(shorter) or abs(shorter - 15200) > allowed


def test_a_number_told_in_four_digits_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parser of this file finds the fault that it is there for."""

    def four(feature: Feature, values: Any, _: Any = None) -> str:
        return nearest(float(values[0]))

    monkeypatch.setattr(Feature, "text", four)
    wrong = [text for seed in range(8) for text in fitted("tree", seed).wrong()]
    assert wrong
