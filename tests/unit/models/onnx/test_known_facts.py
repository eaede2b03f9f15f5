"""Facts that scikit-learn knows and ONNX does not tell reach questions and sentences."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import milp_verix as mv
from milp_verix import InputError, Inputs, ModelError, load_network
from milp_verix.models.onnx.model_file import FACTS_KEY, KnownFacts, facts_of
from tests.support.onnx_models import FLOAT, dense
from tests.support.schemas import faults

pytest.importorskip("sklearn", reason="scikit-learn is not installed")

from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

X = np.random.default_rng(0).random((80, 3))
HERE = X[0]
SIDES = np.where(X @ [1, 2, -1] > 1, "yes", "no")
VALUES = X @ [1.0, 2.0, -1.0]

REGRESSORS: dict[str, Callable[[], Any]] = {
    "alone": lambda: Ridge().fit(X, VALUES),
    "in a pipeline": lambda: make_pipeline(StandardScaler(), Ridge()).fit(X, VALUES),
    "in a search": lambda: GridSearchCV(Ridge(), {"alpha": [1, 2]}, cv=2).fit(X, VALUES),
}
QUESTIONS: list[Callable[..., Any]] = [
    lambda network, **given: mv.explain(network, HERE, epsilon=0.1, **given),
    lambda network, **given: mv.check(network, HERE, [0], epsilon=0.1, **given),
    lambda network, **given: mv.encode_check(network, HERE, [0], epsilon=0.1, **given),
    lambda network, **given: mv.minimum(network, HERE, epsilon=0.1, **given),
    lambda network, **given: mv.contrastive(network, HERE, epsilon=0.1, **given),
    lambda network, **given: mv.enumerate_explanations(network, HERE, epsilon=0.1, **given),
    lambda network, **given: mv.relevance(network, HERE, 0, epsilon=0.1, **given),
    lambda network, **given: mv.audit(network, HERE, [0], epsilon=0.1, **given),
    lambda network, **given: mv.epsilon_sweep(network, HERE, epsilons=[0.1], **given),
    lambda network, **given: mv.robustness_radius(network, HERE, **given),
    lambda network, **given: mv.compare(
        network, HERE, epsilon=0.1, solvers=["phase", "highs"], checks=[[0]], **given
    ),
]


@pytest.mark.parametrize("kind", REGRESSORS)
def test_a_regressor_without_delta_is_refused_in_every_question(kind: str) -> None:
    model = REGRESSORS[kind]()
    network = load_network(model)
    saved = load_network(network.model.SerializeToString())
    for ask in QUESTIONS:
        for given in (model, network, saved):
            with pytest.raises(InputError, match=r"the Ridge is a regressor: .* give delta"):
                ask(given)
    for ask in QUESTIONS:
        ask(network, delta=0.1)


def test_a_study_of_a_regressor_needs_delta(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the Ridge is a regressor"):
        mv.explain_many(REGRESSORS["alone"](), X[:1], epsilon=0.1, journal=tmp_path / "j.jsonl")


def test_a_classifier_names_its_classes(tmp_path: Path) -> None:
    model = LogisticRegression(C=100).fit(X, SIDES)
    network, here = load_network(model), int(model.predict(X[:1])[0] == "yes")
    other = "“no”" if here else "“yes”"
    assert network.facts == KnownFacts(class_names=("no", "yes"))
    found = mv.explain(model, HERE, epsilon=0.9)
    assert found.sentence().startswith(f"The decision “{('no', 'yes')[here]}” stays")
    contrast = mv.contrastive(network, HERE, epsilon=0.9)
    assert f"the decision becomes {other}" in contrast.sentence()
    found.to_json(tmp_path / "found.json")
    data = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert faults("explanation", data, closed=True) == []
    again = mv.Explanation.from_json(tmp_path / "found.json")
    assert again.model.class_names == ("no", "yes")
    assert again.sentence() == found.sentence()
    values = mv.explain(model, HERE, epsilon=0.9, delta=0.1)
    assert "decision" not in values.sentence()


def test_names_of_the_inputs_come_first_and_keep_the_order() -> None:
    network = load_network(LogisticRegression(C=100).fit(X, SIDES))
    features = [mv.continuous(name, 0, 1) for name in "abc"]
    told = {
        names: mv.explain(network, HERE, epsilon=0.1, inputs=Inputs(features, class_names=names))
        for names in ((), ("no", "yes"), ("nein", "ja"))
    }
    place = told["nein", "ja"].prediction
    assert isinstance(place, int)
    for names, found in told.items():
        assert f"“{(names or ('no', 'yes'))[place]}”" in found.sentence()
    with pytest.raises(InputError, match=r"are no, yes, in this order; .* another: yes, no"):
        mv.explain(network, HERE, epsilon=0.1, inputs=Inputs(features, class_names=["yes", "no"]))


def test_numbered_classes_have_no_names() -> None:
    network = load_network(LogisticRegression().fit(X, (SIDES == "yes").astype(int)))
    assert network.facts == KnownFacts()
    assert network.model.metadata_props == []
    assert "class " in mv.explain(network, HERE, epsilon=0.1).sentence()


@pytest.mark.slow
def test_what_a_search_has_chosen_is_read() -> None:
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    search = GridSearchCV(pipeline, {"logisticregression__C": [1, 99]}, cv=2).fit(X, SIDES)
    inside = make_pipeline(StandardScaler(), GridSearchCV(LogisticRegression(), {"C": [1, 9]}))
    for given, chosen in ((search, search.best_estimator_), (inside.fit(X, SIDES), inside)):
        network = load_network(given)
        score = network.evaluate(HERE)[0]
        np.testing.assert_allclose(score, chosen.decision_function(X[:1])[0], rtol=1e-12)
        note = "the best_estimator_ of the GridSearchCV was read"
        assert network.notes == (note,)
        assert note in mv.explain(given, HERE, epsilon=0.1).notes


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"regressor": 3, "class_names": [], "notes": []}',
        '{"regressor": null, "class_names": ["a"], "notes": []}',
        '{"regressor": null, "class_names": ["a", "a"], "notes": []}',
        '{"regressor": null, "class_names": [1, 2], "notes": []}',
        '{"regressor": null, "class_names": 5, "notes": []}',
    ],
)
def test_damaged_metadata_is_refused(text: str) -> None:
    model = onnx.ModelProto()
    model.CopyFrom(dense(elem=FLOAT))
    model.metadata_props.add(key=FACTS_KEY, value=text)
    with pytest.raises(ModelError, match=r"metadata .*milp_verix.* is damaged: remove it"):
        load_network(model)
    assert facts_of(dense(elem=FLOAT), 2) == KnownFacts()
