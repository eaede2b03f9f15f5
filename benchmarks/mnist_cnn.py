"""Make a network of the paper's CNN shape for MNIST: two convolutions, then 20 ReLUs.

    pip install '.[sklearn]'
    python benchmarks/mnist_cnn.py mnist_test.npz mnist-cnn.onnx
    python benchmarks/mnist_cnn.py mnist_test.npz mnist-30x2.onnx --hidden 30,30 --dense

The .npz file holds ``images`` (N, 784) or (N, 28, 28), bytes, and ``labels`` (N,). The convolutions
have no activation and random weights, and ``--dense`` leaves them out; the dense layers, 10-10-10
unless ``--hidden`` says otherwise, are trained on what comes out of them, by scikit-learn, on the
images from number 1000 on. It is a shape to measure, not a good classifier.
"""

import argparse
import io
import warnings

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

KEPT = 1000


def main() -> None:
    """Train and write the network."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("out")
    parser.add_argument("--hidden", default="10,10")
    parser.add_argument("--dense", action="store_true")
    arguments = parser.parse_args()
    shapes = [] if arguments.dense else [(4, 1, 4, 4), (8, 4, 4, 4)]
    with np.load(arguments.data) as data:
        images = data["images"].reshape(-1, 1, 28, 28).astype(np.float32) / np.float32(255)
        labels = data["labels"]
    rng = np.random.default_rng(0)
    kernels = [rng.normal(0, 0.3, shape).astype(np.float32) for shape in shapes]
    filtered = run(network(kernels, []), images)
    hidden = [int(size) for size in arguments.hidden.split(",")]
    dense = MLPClassifier(hidden, max_iter=100, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        dense.fit(filtered[KEPT:], labels[KEPT:])
    layers = [
        (weight.astype(np.float32), bias.astype(np.float32))
        for weight, bias in zip(dense.coefs_, dense.intercepts_, strict=True)
    ]
    model = network(kernels, layers)
    onnx.save(model, arguments.out)
    right = np.mean(np.argmax(run(model, images[:KEPT]), axis=1) == labels[:KEPT])
    print(f"{arguments.out}: {100 * right:.1f} % of the first {KEPT} images are classified right")


def network(
    kernels: list[NDArray[np.float32]], layers: list[tuple[NDArray[np.float32], ...]]
) -> onnx.ModelProto:
    """Return convolutions of stride 2, then dense layers with ReLUs between them."""
    nodes, weights, value = [], [], "image"
    for k, kernel in enumerate(kernels):
        weights.append(numpy_helper.from_array(kernel, f"kernel_{k}"))
        nodes.append(
            helper.make_node("Conv", [value, f"kernel_{k}"], [f"conv_{k}"], strides=[2, 2])
        )
        value = f"conv_{k}"
    return ended_by_dense_layers(nodes, weights, layers, "cnn", (1, 28, 28))


def ended_by_dense_layers(
    nodes: list[onnx.NodeProto],
    weights: list[onnx.TensorProto],
    layers: list[tuple[NDArray[np.float32], ...]],
    name: str,
    shape: tuple[int, ...],
) -> onnx.ModelProto:
    """Return the model of ``nodes`` and then dense layers with ReLUs between them.

    ``shape`` is that of an image.
    """
    before = nodes[-1].output if nodes else ["image"]
    nodes.append(helper.make_node("Flatten", before, ["flat"]))
    value = "flat"
    for k, (weight, bias) in enumerate(layers):
        weights += [
            numpy_helper.from_array(weight, f"weight_{k}"),
            numpy_helper.from_array(bias, f"bias_{k}"),
        ]
        nodes.append(helper.make_node("Gemm", [value, f"weight_{k}", f"bias_{k}"], [f"dense_{k}"]))
        value = f"dense_{k}"
        if k < len(layers) - 1:
            nodes.append(helper.make_node("Relu", [value], [f"relu_{k}"]))
            value = f"relu_{k}"
    graph = helper.make_graph(
        nodes,
        name,
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["N", *shape])],
        [helper.make_tensor_value_info(value, TensorProto.FLOAT, ["N", None])],
        weights,
    )
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9, producer_name="milp-verix"
    )


def run(model: onnx.ModelProto, images: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the output of ``model``."""
    buffer = io.BytesIO()
    onnx.save(model, buffer)
    session = onnxruntime.InferenceSession(buffer.getvalue(), providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, {"image": images})[0])


if __name__ == "__main__":
    main()
