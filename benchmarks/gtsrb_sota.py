"""Make a network of the shape of VeriX's GTSRB-sota: five convolutions, two max-pools, 400 ReLUs.

    pip install '.[sklearn]'
    python benchmarks/gtsrb_sota.py gtsrb10.npz gtsrb-sota.onnx

The .npz file holds ``train_images`` and ``test_images`` (N, 32, 32, 3), bytes, with
``train_labels`` and ``test_labels`` (N,). Convolutions are 3×3 with 32, 32, 64, 64 and 64 kernels,
a max-pool follows the third and the fifth: 110,480 ReLUs and 11,840 maxima. Kernels are random, and
two dense layers of 200 ReLUs are trained on what comes out, by scikit-learn. It is a shape to
measure, not a good classifier.
"""

import argparse
import warnings

import numpy as np
import onnx
from mnist_cnn import ended_by_dense_layers, run
from numpy.typing import NDArray
from onnx import helper, numpy_helper
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

KERNELS = ((32, 3), (32, 32), (64, 32), (64, 64), (64, 64))
POOLED = (2, 4)


def main() -> None:
    """Train and write the network."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("out")
    parser.add_argument("--epochs", type=int, default=30)
    arguments = parser.parse_args()
    with np.load(arguments.data) as data:
        images, tested = (_scaled(data[key]) for key in ("train_images", "test_images"))
        labels, expected = data["train_labels"], data["test_labels"]
    rng = np.random.default_rng(0)
    kernels = [
        rng.normal(0, np.sqrt(2 / (9 * source)), (count, source, 3, 3)).astype(np.float32)
        for count, source in KERNELS
    ]
    filtered = _in_batches(network(kernels, []), images)
    dense = MLPClassifier((200, 200), max_iter=arguments.epochs, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        dense.fit(filtered, labels)
    layers = [
        (weight.astype(np.float32), bias.astype(np.float32))
        for weight, bias in zip(dense.coefs_, dense.intercepts_, strict=True)
    ]
    model = network(kernels, layers)
    onnx.save(model, arguments.out)
    right = np.mean(np.argmax(_in_batches(model, tested), axis=1) == expected)
    print(f"{arguments.out}: {100 * right:.1f} % of the test images are classified right")


def network(
    kernels: list[NDArray[np.float32]], layers: list[tuple[NDArray[np.float32], ...]]
) -> onnx.ModelProto:
    """Return convolutions with their ReLUs and pools, then dense layers with ReLUs between them."""
    nodes = [helper.make_node("Transpose", ["image"], ["turned"], perm=[0, 3, 1, 2])]
    weights, value = [], "turned"
    for k, kernel in enumerate(kernels):
        weights.append(numpy_helper.from_array(kernel, f"kernel_{k}"))
        nodes.append(helper.make_node("Conv", [value, f"kernel_{k}"], [f"conv_{k}"]))
        nodes.append(helper.make_node("Relu", [f"conv_{k}"], [f"active_{k}"]))
        value = f"active_{k}"
        if k in POOLED:
            sides = {"kernel_shape": [2, 2], "strides": [2, 2]}
            nodes.append(helper.make_node("MaxPool", [value], [f"pool_{k}"], **sides))
            value = f"pool_{k}"
    return ended_by_dense_layers(nodes, weights, layers, "gtsrb-sota", (32, 32, 3))


def _scaled(images: NDArray[np.uint8]) -> NDArray[np.float32]:
    return images.astype(np.float32) / np.float32(255)


def _in_batches(model: onnx.ModelProto, images: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.concatenate([run(model, images[k : k + 500]) for k in range(0, len(images), 500)])


if __name__ == "__main__":
    main()
