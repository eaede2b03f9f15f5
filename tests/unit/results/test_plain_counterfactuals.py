"""Plain counterfactuals change no more than those of the search, and stand as these do."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from sklearn.linear_model import LogisticRegression

import milp_verix
from milp_verix import Explanation, continuous
from milp_verix.results import plain_counterfactuals
from tests.support.mixed_domains import mixed_case
from tests.support.random_networks import as_layers, dense_network

_HOMES = ("searches.explain_search", "searches.minimum.smallest")


def _both(seed: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[Explanation]:
    """Return an explanation with plain counterfactuals, and with those of the search."""
    case = mixed_case(seed, rules=bool(seed % 2))
    network, options = case.network(folder), {"epsilon": case.epsilon, "inputs": case.inputs}
    order = list(range(len(case.features)))
    plain = milp_verix.explain(network, case.point, order=order, **options)
    assert plain.replay(network) == ()
    least = milp_verix.minimum(network, case.point, **options)
    assert least.replay(network) == ()
    for home in _HOMES:
        monkeypatch.setattr(
            f"milp_verix.{home}.with_plain_counterfactuals", lambda found, *_: found
        )
    return [plain, milp_verix.explain(network, case.point, order=order, **options)]


@pytest.mark.parametrize("seed", range(400, 430))
def test_changes_are_fewer_and_smaller(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, raw = _both(seed, tmp_path, monkeypatch)
    assert plain.explanation == raw.explanation
    for feature, found in plain.counterfactuals.items():
        before = np.abs(raw.counterfactuals[feature].input - raw.input).reshape(-1)
        after = np.abs(found.input - plain.input).reshape(-1)
        assert np.all(after <= before)
        assert after[list(plain.groups[feature])].any()


def test_a_change_that_is_not_needed_is_taken_back(tmp_path: Path) -> None:
    # the class is 1 where 2 a + b + 0.01 c > 10
    layers = as_layers(([[0.0] * 3, [2.0, 1.0, 0.01]], [0.0, -10.0]))
    network = dense_network(layers, tmp_path)
    inputs = [milp_verix.integer("a", 0, 9), continuous("b", 0, 9), continuous("c", 0, 9)]
    found = milp_verix.explain(
        network, [0.0, 1.0, 3.0], epsilon=np.inf, inputs=inputs, order=[2, 1, 0]
    )
    assert found.explanation == (0,)
    a, b, c = found.counterfactuals[0].input.reshape(-1).tolist()
    assert (a, b, c) == (5.0, 1.0, 3.0)
    assert found.sentence("a") == "With a: 0 → 5, the prediction becomes class 1."


def test_real_numbers_have_few_digits(tmp_path: Path) -> None:
    # the class is 1 where a > 3.14159
    layers = as_layers(([[0.0], [1.0]], [0.0, -3.14159]))
    network, inputs = dense_network(layers, tmp_path), [continuous("a", 0, 90)]
    found = milp_verix.explain(network, [0.0], epsilon=np.inf, inputs=inputs)
    (value,) = found.counterfactuals[0].input.reshape(-1).tolist()
    assert 3.14159 < value < 3.3
    assert value == pytest.approx(float(f"{value:.2g}"))
    assert found.replay(network) == ()


def test_contrasts_have_values_near_the_input(tmp_path: Path) -> None:
    # the class is 1 where a + b > 12.3
    layers = as_layers(([[0.0, 0.0], [1.0, 1.0]], [0.0, -12.3]))
    network = dense_network(layers, tmp_path)
    inputs = [milp_verix.integer("a", 0, 90), continuous("b", 0, 9)]
    found = milp_verix.contrastive(network, [2, 1.5], epsilon=np.inf, inputs=inputs)
    assert found.proven
    assert found.sentence().startswith("With a: 2 → 11, the prediction becomes class 1.")
    both = milp_verix.contrastive(
        network, [2, 1.5], epsilon={"a": 8, "b": 9}, inputs=inputs, costs=[1, 2]
    )
    assert both.contrast == (0, 1)
    a, b = both.counterfactual.input.reshape(-1).tolist()
    assert a + b == pytest.approx(12.3, abs=0.3)
    assert b == np.float32(f"{b:.4g}")
    assert both.replay(network)


@pytest.mark.parametrize("seed", range(430, 445))
def test_contrasts_are_as_near_as_those_of_the_search(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = mixed_case(seed, rules=bool(seed % 2))
    network, options = case.network(tmp_path), {"epsilon": case.epsilon, "inputs": case.inputs}
    plain = milp_verix.contrastive(network, case.point, **options)
    monkeypatch.setattr(
        "milp_verix.searches.contrastive.plain_counterfactual", lambda _, one, *__: one
    )
    raw = milp_verix.contrastive(network, case.point, **options)
    assert plain.replay(network)
    assert (plain.size, plain.proven) == (raw.size, raw.proven)
    near, far = (np.abs(one.counterfactual.input - one.input).reshape(-1) for one in (plain, raw))
    assert np.all(near <= far)


def test_work_is_in_proportion_to_the_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    weights = rng.uniform(0.5, 1.0, 100)
    model = LogisticRegression(C=10).fit(
        rows := rng.random((300, 100)), rows @ weights > weights.sum() / 2
    )
    inputs = [continuous(f"f{place}", 0, 1) for place in range(100)]
    asked = {"epsilon": 0.3, "inputs": inputs, "order": range(100)}
    runs, run = [0], plain_counterfactuals.batch_outputs

    def counting(*given: Any) -> Any:
        runs[0] += 1
        return run(*given)

    monkeypatch.setattr(plain_counterfactuals, "batch_outputs", counting)
    found = milp_verix.explain(model, rows[0], **asked)
    changes = sum((one.input != found.input).sum() for one in found.counterfactuals.values())
    assert changes > 500
    assert runs[0] < 20 * changes


def _tied(threshold: float) -> onnx.ModelProto:
    """Return a tree of one split: class 1 above ``threshold``, a tie with class 0 elsewhere."""
    node = helper.make_node(
        "TreeEnsembleClassifier",
        ["x"],
        ["label", "scores"],
        domain="ai.onnx.ml",
        nodes_treeids=[0, 0, 0],
        nodes_nodeids=[0, 1, 2],
        nodes_featureids=[0, 0, 0],
        nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"],
        nodes_values=[threshold, 0.0, 0.0],
        nodes_truenodeids=[1, 0, 0],
        nodes_falsenodeids=[2, 0, 0],
        class_treeids=[0] * 6,
        class_nodeids=[1, 1, 1, 2, 2, 2],
        class_ids=[0, 1, 2] * 2,
        class_weights=[0.5, 0.5, 0.0, 0.0, 1.0, 0.0],
        classlabels_int64s=[0, 1, 2],
        post_transform="NONE",
    )
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 1])
    label = helper.make_tensor_value_info("label", TensorProto.INT64, [None])
    scores = helper.make_tensor_value_info("scores", TensorProto.FLOAT, [None, 3])
    graph = helper.make_graph([node], "tied", [x], [label, scores])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, ir_version=8, opset_imports=opsets)


@pytest.mark.parametrize(
    ("minimise", "told"), [("features", "0.9 → 0.4,"), ("distance", "0.9 → 0.4567,")]
)
def test_a_tie_of_trees_is_told_in_few_digits(minimise: str, told: str) -> None:
    described = milp_verix.Inputs([continuous("wage", 0, 1)])
    found = milp_verix.contrastive(
        _tied(0.45678912), [0.9], inputs=described, epsilon="inf", minimise=minimise
    )
    assert f"With wage: {told} the prediction becomes class 0." in found.sentence()
