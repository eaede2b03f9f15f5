"""A model in memory is taken wherever the path of a file is."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import milp_verix
from milp_verix import InputError, ModelError, load_network
from tests.support.onnx_models import FLOAT, assert_agrees, dense, saved

X = np.float32([0.4, 0.6, 0.3])


def model() -> onnx.ModelProto:
    return dense(elem=FLOAT)


@pytest.mark.parametrize("given", [model(), model().SerializeToString()], ids=["model", "bytes"])
def test_it_is_the_network_of_the_file(given: onnx.ModelProto | bytes, tmp_path: Path) -> None:
    filed, held = load_network(saved(model(), tmp_path)), load_network(given)
    assert held.path is None
    assert held.sha256 == filed.sha256
    assert "the model in memory" in repr(held)
    assert_agrees(held)
    np.testing.assert_array_equal(held.evaluate(X), filed.evaluate(X))


def test_the_model_given_stays_as_it_is() -> None:
    given = model()
    before = given.SerializeToString()
    network = load_network(given)
    assert given.SerializeToString() == before
    given.graph.initializer[0].raw_data = b"\0" * 48
    with pytest.raises(InputError, match="changed in place"):
        network.evaluate(X)
    assert_agrees(pickle.loads(pickle.dumps(network)))


@pytest.mark.parametrize(
    "ask",
    [
        lambda network: milp_verix.explain(network, X, epsilon=0.1).explanation,
        lambda network: milp_verix.check(network, X, [0, 1], epsilon=0.1).answer,
        lambda network: milp_verix.minimum(network, X, epsilon=0.3).size,
        lambda network: milp_verix.contrastive(network, X, epsilon=0.3).size,
        lambda network: milp_verix.enumerate_explanations(network, X, epsilon=0.3).abductive,
        lambda network: (
            milp_verix.encode_check(network, X, [0, 1], epsilon=0.1).program.column_lower.size
        ),
        lambda network: [
            run.answers
            for run in milp_verix.compare(
                network, X, epsilon=0.1, solvers=["phase", "highs"], checks=[[0], [0, 1]]
            ).runs
        ],
    ],
)
def test_every_question_takes_it(ask: Callable[[Any], object], tmp_path: Path) -> None:
    assert ask(model()) == ask(model().SerializeToString()) == ask(saved(model(), tmp_path))


def test_results_are_stored_and_replayed(tmp_path: Path) -> None:
    found = milp_verix.explain(model(), X, epsilon=0.3)
    assert found.model.file == "the model in memory"
    found.to_json(tmp_path / "found.json")
    again = milp_verix.Explanation.from_json(tmp_path / "found.json")
    assert again.replay(load_network(model())) == ()
    assert again.replay(load_network(saved(model(), tmp_path))) == ()
    other = load_network(dense(elem=FLOAT, opset=16))
    with pytest.raises(InputError, match="the model in memory is not the network explained"):
        again.replay(other)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (b"", "cannot read the model in memory: it is empty"),
        (b"not a model", "cannot read the model in memory: it is "),
        (onnx.ModelProto(), "cannot read the model in memory: it is "),
    ],
)
def test_what_is_no_model(given: onnx.ModelProto | bytes, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        load_network(given)


@pytest.mark.parametrize("given", [None, 3, np.zeros(3), model().graph])
def test_what_is_no_network(given: Any) -> None:
    for ask in (load_network, lambda network: milp_verix.check(network, X, [0], epsilon=0.1)):
        with pytest.raises(InputError, match=r"expected the path of an ONNX file, its bytes, an"):
            ask(given)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("model.pt", "a file of PyTorch and no ONNX file; .*torch.onnx.export"),
        ("MODEL.PTH", "a file of PyTorch"),
        ("model.pkl", "a pickle of Python and no ONNX file; load the model in Python"),
        ("model.joblib", "a pickle of Python"),
        ("model.h5", "a file of Keras and no ONNX file; .*model.export"),
        ("model.keras", "a file of Keras"),
    ],
)
def test_a_file_of_another_library_is_refused_in_one_line(
    name: str, told: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(b"\x80\x04")
    with pytest.raises(ModelError, match=told) as refused:
        load_network(path)
    assert "\n" not in str(refused.value)
    path.unlink()
    with pytest.raises(ModelError, match="No such file"):
        load_network(path)
