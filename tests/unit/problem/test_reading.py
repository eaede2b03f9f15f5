"""Several outputs without a delta: when it is said that they were read as scores."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from milp_verix import contrastive, explain, load_network, minimum
from milp_verix.models.onnx.onnx_network import OnnxNetwork
from milp_verix.problem.agreement import reading_notes
from tests.support.digits_example import images, network as digits_network
from tests.support.onnx_models import FLOAT, build, loaded, node
from tests.support.published_data import shared_file
from tests.support.repository import FIXTURES


def affine(
    folder: Path,
    outputs: int = 3,
    inputs: int = 20,
    *,
    name: str = "y",
    graph: str = "main_graph",
    metadata: dict[str, str] | None = None,
    bias: Any = None,
) -> OnnxNetwork:
    """Return a network of one affine map whose values at zero are ``bias``."""
    given = np.arange(outputs, dtype=float) if bias is None else np.asarray(bias)
    model = build(
        [node("Gemm", ["x", "A", "b"], [name])],
        inputs={"x": (1, inputs)},
        outputs=[name],
        constants={"A": np.ones((inputs, outputs)) * np.arange(outputs), "b": given},
        elem=FLOAT,
    )
    model.graph.name = graph
    onnx.helper.set_model_props(model, metadata or {})
    return loaded(model, folder)


def noted(network: OnnxNetwork) -> bool:
    return bool(reading_notes(network, network.evaluate(np.zeros(network.input_size))))


def test_outputs_that_say_nothing_are_noted(tmp_path: Path) -> None:
    for name in ("y", "output", "dense_2", "linear", "Identity:0", "variable"):
        assert noted(affine(tmp_path, name=name)), name


@pytest.mark.parametrize(
    "name", ["logits", "class_scores", "probabilities", "StatefulPartitionedCall/softmax", "Labels"]
)
def test_names_show_a_classifier(name: str, tmp_path: Path) -> None:
    assert not noted(affine(tmp_path, name=name))


def test_graph_and_metadata_are_read(tmp_path: Path) -> None:
    assert not noted(affine(tmp_path, graph="ONNX(MLPClassifier)"))
    assert not noted(affine(tmp_path, metadata={"task": "image-classification"}))
    assert not noted(affine(tmp_path, metadata={"labels": "cat, dog, horse"}))
    assert noted(affine(tmp_path, metadata={"author": "nobody"}))


def test_values_that_are_a_distribution_show_a_classifier(tmp_path: Path) -> None:
    assert not noted(affine(tmp_path, bias=[0.2, 0.5, 0.3]))
    assert not noted(affine(tmp_path, bias=np.log([0.2, 0.5, 0.3])))
    assert noted(affine(tmp_path, bias=[0.2, 0.5, 0.4]))
    assert noted(affine(tmp_path, bias=[1.2, -0.5, 0.3]))


def test_many_outputs_are_classes_but_for_decoders_and_regressions(tmp_path: Path) -> None:
    assert not noted(affine(tmp_path, outputs=10))
    assert noted(affine(tmp_path, outputs=9))
    assert noted(affine(tmp_path, outputs=20, inputs=20))
    assert noted(affine(tmp_path, outputs=10, graph="ONNX(MLPRegressor)"))
    assert noted(affine(tmp_path, name="score", graph="regression"))
    assert not noted(affine(tmp_path, outputs=1))


def test_the_note_is_in_every_kind_of_result(tmp_path: Path) -> None:
    network, x = affine(tmp_path), np.full(20, 0.5)
    for ask in (explain, minimum, contrastive):
        (note,) = (note for note in ask(network, x, epsilon=0.01).notes if "outputs" in note)
        assert note.startswith("the largest of the 3 outputs was taken for the class")
        assert "delta (--delta)" in note


def test_what_the_user_says_needs_no_note(tmp_path: Path) -> None:
    network, x = affine(tmp_path), np.full(20, 0.5)
    for said in ({"delta": 0.1}, {"label": 2}):
        notes = explain(network, x, epsilon=0.01, **said).notes
        assert not any("outputs" in note for note in notes)
    assert not any(
        "outputs" in n for n in explain(digits_network(), images()[0], epsilon=0.1).notes
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("dynamo-decoder", True),
        ("dynamo-residual", True),
        ("torchscript-residual", True),
        ("dynamo-dense", False),
        ("external-data", False),
        ("keras-style", False),
        ("sklearn-binary-tensor", False),
        ("sklearn-words-zipmap", False),
        ("sklearn-multiclass-tensor", False),
        ("sklearn-scaled-multiclass-zipmap", False),
    ],
)
def test_what_exporters_write(name: str, expected: bool) -> None:
    assert noted(load_network(FIXTURES / f"{name}.onnx")) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("acasxu-1-1", True),
        ("marabou-fc1", True),
        ("mnist-10x2", False),
        ("gtsrb-10x2", False),
        ("fame-mnist-cnn", False),
        ("fame-gtsrb-cnn", False),
        ("adult-AC-1", False),
        ("german-GC-4", False),
        ("vnncomp-mnist-256x2", False),
        ("digits-maxpool-cnn", False),
    ],
)
def test_published_networks(name: str, expected: bool) -> None:
    assert noted(load_network(shared_file(f"models/{name}.onnx"))) == expected
