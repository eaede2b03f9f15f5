"""Train the example network on 8×8 digits and write ``digits.onnx`` and ``digits.npz``.

Needs scikit-learn (``pip install 'milp-verix[sklearn]'``), takes a second or two, and writes the
same bytes whenever it runs on the same machine with the same package versions.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

FloatArray = NDArray[np.float32]
IntArray = NDArray[np.int64]

CLASSES = 10
OPSET = 13
IR_VERSION = 8
ORDER = (2, 3, 4, 5, 6, 7, 8, 9, 0, 1)  # 0 last: at ε = 0.1 most zeros need no pixel at all


@dataclass(frozen=True)
class Split:
    """Images of shape (n, 64) in [0, 1] with their labels, split once and for all."""

    train_images: FloatArray
    test_images: FloatArray
    train_labels: IntArray
    test_labels: IntArray


def load_split() -> Split:
    """Load scikit-learn's digits, scaled from 0..16 to [0, 1]; a quarter is kept for testing."""
    images, labels = load_digits(return_X_y=True)
    scaled = (images / 16).astype(np.float32)  # sixteenths are exact in float32
    return Split(*train_test_split(scaled, labels, test_size=0.25, random_state=0, stratify=labels))


def train(split: Split) -> MLPClassifier:
    """Fit 64-16-16-10; the L2 penalty keeps weights small, hence bounds tight and checks fast."""
    network = MLPClassifier((16, 16), alpha=0.5, max_iter=1000, random_state=0)
    return network.fit(split.train_images, split.train_labels)


def to_onnx(network: MLPClassifier) -> onnx.ModelProto:
    """Write the classifier as Flatten, Gemm, Relu, Gemm, Relu, Gemm; the output is the logits."""
    nodes = [helper.make_node("Flatten", ["image"], ["a0"])]
    initializers = []
    depth = len(network.coefs_)
    for k, (weight, bias) in enumerate(zip(network.coefs_, network.intercepts_, strict=True), 1):
        initializers += [
            numpy_helper.from_array(weight.astype(np.float32), f"W{k}"),
            numpy_helper.from_array(bias.astype(np.float32), f"b{k}"),
        ]
        output = "logits" if k == depth else f"z{k}"
        nodes.append(helper.make_node("Gemm", [f"a{k - 1}", f"W{k}", f"b{k}"], [output]))
        if k < depth:
            nodes.append(helper.make_node("Relu", [output], [f"a{k}"]))
    graph = helper.make_graph(
        nodes,
        "digits",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["N", 1, 8, 8])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", CLASSES])],
        initializers,
    )
    model = helper.make_model(
        graph,
        producer_name="milp-verix/examples/train_digits.py",
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
    )
    onnx.checker.check_model(model, full_check=True)
    return model


def choose_images(network: MLPClassifier, split: Split) -> tuple[FloatArray, IntArray]:
    """Choose ten middling and ten close test images, one of each for each digit.

    Correctly classified images of a digit are ranked by margin, the distance of the winning
    logit from the next. The first ten images stand a fifth of the way up that ranking, the
    other ten at its foot.
    """
    images, labels = split.test_images, split.test_labels
    right = network.predict(images) == labels
    second, first = np.sort(network.predict_log_proba(images), axis=1)[:, -2:].T
    ranking = np.argsort(first - second, kind="stable")
    middling, close = [], []
    for digit in ORDER:
        ranked = [i for i in ranking if right[i] and labels[i] == digit]
        middling.append(ranked[len(ranked) // 5])
        close.append(ranked[0])
    chosen = middling + close
    return images[chosen].reshape(-1, 1, 8, 8), labels[chosen]


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, report the accuracy, write both files."""
    parser = argparse.ArgumentParser(description="Train the example network on 8×8 digits.")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path(__file__).parent,
        metavar="FOLDER",
        help="where digits.onnx and digits.npz go (default: beside this script)",
    )
    folder: Path = parser.parse_args(arguments).out

    split = load_split()
    network = train(split)
    images, labels = choose_images(network, split)
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(to_onnx(network), folder / "digits.onnx")
    np.savez_compressed(folder / "digits.npz", images=images, labels=labels)

    print(f"training accuracy {network.score(split.train_images, split.train_labels):.1%}")
    print(f"test accuracy     {network.score(split.test_images, split.test_labels):.1%}")
    print(f"wrote {folder / 'digits.onnx'} and {folder / 'digits.npz'}")


if __name__ == "__main__":
    main()
