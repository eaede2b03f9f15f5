"""Models in memory that are fitted again, or changed in place, after they were read."""

import pickle
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import milp_verix
from milp_verix import InputError, Problem, load_network
from milp_verix.models.loaded_model import Origin, _state_of
from tests.support.onnx_models import dense
from verix_encodings.kinds.tree_ensemble import TreeEnsemble

pytest.importorskip("sklearn")

from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4))
FIRST, SECOND = X[:, 0] + X[:, 1] > 0, X[:, 2] - X[:, 3] > 0
TOLD = "the model was fitted again after load_network"

Change = Callable[[Any], object]


def again(model: Any) -> None:
    model.fit(X, SECOND)


def xgboost(**options: Any) -> Any:
    return pytest.importorskip("xgboost").XGBClassifier(n_estimators=4, n_jobs=1, **options)


def lightgbm() -> Any:
    made = pytest.importorskip("lightgbm").LGBMClassifier
    return made(n_estimators=4, n_jobs=1, verbose=-1)


def boosted(model: Any) -> None:
    model.get_booster().update(pytest.importorskip("xgboost").DMatrix(X, SECOND), 4)


def flip(shares: np.ndarray) -> None:
    np.subtract(1, shares, out=shares)


def inner_leaf(model: Any, factor: float) -> None:
    """Change a leaf of the first tree so that no bound of all trees changes."""
    values = [model.booster_.get_leaf_output(0, leaf) for leaf in range(6)]
    leaf = int(np.argsort(values)[3])
    model.booster_.set_leaf_output(0, leaf, factor * values[leaf])


def scaled(estimator: Any) -> Any:
    return make_pipeline(StandardScaler(), estimator)


def forest() -> Any:
    return RandomForestClassifier(4, random_state=0)


CHANGES: dict[str, tuple[Callable[[], Any], Change]] = {
    "linear": (LogisticRegression, again),
    "linear, in place": (LogisticRegression, lambda m: np.negative(m.coef_, out=m.coef_)),
    "linear, one attribute": (LogisticRegression, lambda m: setattr(m, "intercept_", -3.0)),
    "regression": (Ridge, again),
    "part by part": (
        lambda: SGDClassifier(random_state=0),
        lambda m: m.partial_fit(X, SECOND),
    ),
    "pipeline": (lambda: scaled(LogisticRegression()), again),
    "the last step": (lambda: scaled(LogisticRegression()), lambda m: again(m[-1])),
    "the first step": (lambda: scaled(LogisticRegression()), lambda m: m[0].fit(5 * X)),
    "another activation": (
        lambda: MLPClassifier((3,), max_iter=20),
        lambda m: m.set_params(activation="tanh"),
    ),
    "forest": (forest, again),
    "forest, one tree more": (
        lambda: RandomForestClassifier(4, random_state=0, warm_start=True),
        lambda m: m.set_params(n_estimators=5).fit(X, FIRST),
    ),
    "forest, one leaf": (forest, lambda m: flip(m.estimators_[1].tree_.value[-1])),
    "boosted": (lambda: GradientBoostingClassifier(n_estimators=4), again),
    "boosted, another rate": (
        lambda: GradientBoostingClassifier(n_estimators=4),
        lambda m: m.set_params(learning_rate=0.5),
    ),
    "histograms": (lambda: scaled(HistGradientBoostingClassifier(max_iter=4)), again),
    "XGBoost": (xgboost, again),
    "XGBoost, more rounds": (xgboost, boosted),
    "LightGBM": (lightgbm, again),
    "LightGBM, one leaf": (lightgbm, lambda m: m.booster_.set_leaf_output(0, 0, 7.0)),
    "LightGBM, a leaf between others": (lightgbm, lambda m: inner_leaf(m, 1.5)),
}
QUESTION: dict[str, Any] = {"epsilon": 0.5, "domain": (-10, 10)}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", CHANGES)
def test_questions_about_the_model_before_are_refused(name: str) -> None:
    make, change = CHANGES[name]
    model = make().fit(X, FIRST)
    network = load_network(model)
    options = QUESTION | ({"delta": 0.1} if name == "regression" else {})
    problem = Problem(network, X[0], **options)
    found = problem.explain()
    change(model)
    copied = pickle.loads(pickle.dumps(network))
    for ask in (
        problem.explain,
        problem.minimum,
        problem.contrastive,
        problem.export,
        found.inflate,
        lambda: Problem(network, X[0], **options),
        lambda: milp_verix.explain(network, X[0], **options),
        lambda: milp_verix.explain_many(network, X[:2], **options, journal="never-written.jsonl"),
        lambda: found.replay(network),
        lambda: found.certify(network),
        lambda: network.evaluate(X[0]),
        lambda: network.evaluate_many(X[:2]),
    ):
        with pytest.raises(InputError, match=TOLD):
            ask()
    assert copied.origin is None
    fresh = load_network(model)
    assert Problem(fresh, X[0], **options).explain().model != found.model


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("make", [forest, lambda: scaled(MLPClassifier((3,), max_iter=20))])
def test_changes_without_effect_are_none(make: Callable[[], Any]) -> None:
    model = make().fit(X, FIRST)
    problem = Problem(load_network(model), X[0], **QUESTION)
    model.predict(X)
    last = model[-1] if hasattr(model, "steps") else model
    last.set_params(verbose=True)
    last.set_params(warm_start=True)
    assert problem.explain().explanation == problem.explain().explanation
    last.set_params(verbose=False, warm_start=False, random_state=0)
    model.fit(X, FIRST)
    if last is model:  # a forest of the same numbers, from other objects
        problem.explain()


def test_a_graph_that_is_changed_in_place() -> None:
    model = dense()
    network = load_network(model)
    x = np.full(network.input_shape, 0.5)
    problem = Problem(network, x, epsilon=0.1)
    problem.explain()
    stored = model.graph.initializer[0]
    stored.CopyFrom(numpy_helper.from_array(-numpy_helper.to_array(stored), stored.name))
    with pytest.raises(InputError, match=TOLD):
        problem.explain()
    assert load_network(model.SerializeToString()).origin is None


def test_functions_and_locks_inside_of_a_model() -> None:
    double = make_pipeline(FunctionTransformer(lambda x: 2 * x), StandardScaler())
    assert _state_of([double]) == _state_of([double]) != (None, [])
    before = _state_of([double])
    double[0].func = lambda x: 3 * x
    assert _state_of([double]) != before
    double.lock = threading.Lock()
    assert _state_of([double])[0] is None  # then the model is read again
    contents = ["a"]
    origin = Origin([double], lambda: SimpleNamespace(content_sha256=contents[0]), "a")
    origin.require_unchanged()
    contents[0] = "b"
    with pytest.raises(InputError, match=TOLD):
        origin.require_unchanged()


def test_weights_of_keras() -> None:
    class Network:
        def __init__(self) -> None:
            self.weights = np.zeros(9)
            self.calls = 0

        def get_weights(self) -> list[np.ndarray]:
            self.calls += 1
            return [self.weights]

    network = Network()
    before = _state_of([network])
    assert _state_of([network]) == before
    assert network.calls == 2
    network.weights += 0.1
    assert _state_of([network]) != before


def test_models_in_files_have_no_origin(tmp_path: Any) -> None:
    file = tmp_path / "model.onnx"
    onnx.save(dense(), file)
    network = load_network(file)
    found = milp_verix.explain(network, np.full(3, 0.5), epsilon=0.1)
    changed = dense()
    changed.graph.initializer.add(name="another", data_type=1, dims=[1], float_data=[1.0])
    onnx.save(changed, file)
    assert not found.replay(network)  # the session has the old one
    with pytest.raises(InputError, match="is not the network explained"):
        found.replay(load_network(file))


def test_a_leaf_of_a_large_booster_is_noticed_by_replay_certificates_and_evaluation() -> None:
    made = pytest.importorskip("lightgbm").LGBMClassifier
    model = made(n_estimators=150, n_jobs=1, verbose=-1, min_child_samples=2).fit(X, FIRST)
    network = load_network(model)
    found = milp_verix.explain(network, X[0], epsilon=0.01, domain=(-10, 10))
    inner_leaf(model, 1 + 1e-6)
    asks = (lambda: found.replay(network), lambda: found.certify(network))
    for ask in (*asks, lambda: network.evaluate(X[0])):
        with pytest.raises(InputError, match=TOLD):
            ask()


@pytest.mark.parametrize(("limit", "times"), [({}, 2), ({"time_limit": 9}, 1)])
def test_a_call_reads_the_state_of_a_large_model_no_more_than_needed(
    monkeypatch: pytest.MonkeyPatch, limit: dict[str, float], times: int
) -> None:
    network, seen = load_network(forest().fit(X, FIRST)), list[bool]()

    def required(_: Origin, *, wholly: bool = False) -> None:
        seen.append(wholly)

    monkeypatch.setattr(Origin, "require_unchanged", required)
    milp_verix.explain(network, X[0], epsilon=0.1, domain=(-5, 5), **limit)
    assert len(seen) == times


def test_the_magnitude_of_trees_is_computed_once_for_the_same_values() -> None:
    network = load_network(forest().fit(X, FIRST))
    node = network.ir.nodes[-1]
    assert isinstance(node, TreeEnsemble)
    assert node.magnitude is node.magnitude
    turned = node.followed(np.array([[-3.0, 1.0]]), np.array([2.0]), np.zeros(1))
    for one in (node, turned):
        parts = np.split(one.value_of, one.roots[1:])
        largest = np.abs(one.base) + sum(np.abs(part).max(axis=0) for part in parts)
        np.testing.assert_allclose(one.magnitude, largest, rtol=2e-9)
        assert (one.magnitude >= largest).all()
