"""Damage to ONNX graphs that still are ONNX graphs: what the fuzzing of the reader draws from."""

from collections.abc import Callable, Sized

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Mutation = Callable[[onnx.ModelProto, np.random.Generator], None]


def pick(items: Sized, rng: np.random.Generator) -> int:
    """Return a random index into ``items``."""
    return int(rng.integers(len(items)))


def shuffle_nodes(model: onnx.ModelProto, rng: np.random.Generator) -> None:
    nodes = [model.graph.node[i] for i in rng.permutation(len(model.graph.node))]
    copies = [onnx.NodeProto.FromString(proto.SerializeToString()) for proto in nodes]
    del model.graph.node[:]
    model.graph.node.extend(copies)


def remove_a_node(model: onnx.ModelProto, rng: np.random.Generator) -> None:
    del model.graph.node[pick(model.graph.node, rng)]


def duplicate_a_node(model: onnx.ModelProto, rng: np.random.Generator) -> None:
    model.graph.node.append(model.graph.node[pick(model.graph.node, rng)])


def change_an_operator(model: onnx.ModelProto, rng: np.random.Generator) -> None:
    others = ("Relu", "MaxPool", "Gemm", "Concat", "Split", "Resize", "ReduceMax", "Max", "Slice")
    others += ("ConvTranspose", "PRelu", "BatchNormalization", "Pad", "Sigmoid", "Clip", "Nonsense")
    model.graph.node[pick(model.graph.node, rng)].op_type = others[pick(others, rng)]


def rewire_an_input(model: onnx.ModelProto, rng: np.random.Generator) -> None:
    proto = model.graph.node[pick(model.graph.node, rng)]
    names = [name for other in model.graph.node for name in (*other.input, *other.output)]
    if proto.input:
        proto.input[pick(proto.input, rng)] = ["", "ghost", *names][
            pick(["", "ghost", *names], rng)
        ]


def add_or_remove_an_input(model: onnx.ModelProto, rng: np.random.Generator) -> None:
    proto = model.graph.node[pick(model.graph.node, rng)]
    if proto.input and rng.random() < 0.5:
        del proto.input[pick(proto.input, rng)]
    else:
        proto.input.append(model.graph.node[pick(model.graph.node, rng)].output[0])


def read_itself(model: onnx.ModelProto, rng: np.random.Generator) -> None:
    proto = model.graph.node[pick(model.graph.node, rng)]
    if proto.input:
        proto.input[pick(proto.input, rng)] = proto.output[0]


def change_an_attribute(model: onnx.ModelProto, rng: np.random.Generator) -> None:
    protos = [proto for proto in model.graph.node if proto.attribute]
    if not protos:
        return
    proto = protos[pick(protos, rng)]
    name = proto.attribute[pick(proto.attribute, rng)].name
    values = (-1, 0, 7, 2**40, -(2**63), 0.5, float("nan"), "text", [], [0], [-3, 2], [2**40] * 4)
    values += ([1] * 9, [0.5, float("inf")], ["a"], numpy_helper.from_array(np.ones(2)))
    kept = [attribute for attribute in proto.attribute if attribute.name != name]
    value = values[pick(values, rng)]
    empty = {"attr_type": onnx.AttributeProto.INTS} if value == [] else {}
    changed = helper.make_attribute(name, value, **empty)
    del proto.attribute[:]
    proto.attribute.extend([*kept, changed])


def add_an_attribute(model: onnx.ModelProto, rng: np.random.Generator) -> None:
    names = ("axis", "axes", "keepdims", "pads", "strides", "ceil_mode", "to", "mode", "group")
    values = (-9, 1, [0, 0], [3], "SAME_UPPER", 1.5)
    proto = model.graph.node[pick(model.graph.node, rng)]
    proto.attribute.append(
        helper.make_attribute(names[pick(names, rng)], values[pick(values, rng)])
    )


def change_a_weight(model: onnx.ModelProto, rng: np.random.Generator) -> None:
    tensor = model.graph.initializer[pick(model.graph.initializer, rng)]
    if tensor.data_location == TensorProto.EXTERNAL or -1 in tensor.dims:
        return  # already damaged
    array = numpy_helper.to_array(tensor).copy()
    extremes = (np.nan, np.inf, -np.inf, 3e38, 1e-40, 0.0)
    integers = (-(2**31), 2**31 - 1, -1, 0, 10**7)
    if array.size:
        chosen = extremes if array.dtype.kind == "f" else integers
        array.reshape(-1)[pick(array.reshape(-1), rng)] = chosen[pick(chosen, rng)]
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


def change_a_shape(model: onnx.ModelProto, rng: np.random.Generator) -> None:
    tensor = model.graph.initializer[pick(model.graph.initializer, rng)]
    shapes = ([], [0], [1], [1, 1], [2, 3, 4], [2**31, 2**31], [-1], [5])
    del tensor.dims[:]
    tensor.dims.extend(shapes[pick(shapes, rng)])


def replace_a_weight(model: onnx.ModelProto, rng: np.random.Generator) -> None:
    tensor = model.graph.initializer[pick(model.graph.initializer, rng)]
    shapes = ((), (0,), (1,), (2,), (1, 1), (3, 1), (2, 3, 4), (1, 4, 1, 1))
    kinds = (np.float32, np.float64, np.int64, np.int32, np.bool_, np.float16)
    array = rng.normal(size=shapes[pick(shapes, rng)]).astype(kinds[pick(kinds, rng)])
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


def change_the_input(model: onnx.ModelProto, rng: np.random.Generator) -> None:
    tensor = model.graph.input[0].type.tensor_type
    dims = (0, 1, 2, 7, 100, 2**40, -1)
    if not tensor.shape.dim:
        return
    tensor.shape.dim[pick(tensor.shape.dim, rng)].dim_value = dims[pick(dims, rng)]
    if rng.random() < 0.2:
        del tensor.shape.dim[pick(tensor.shape.dim, rng) :]


def change_the_opset(model: onnx.ModelProto, rng: np.random.Generator) -> None:
    model.opset_import[0].version = int(rng.choice([-1, 0, 1, 5, 7, 9, 10, 11, 13, 18, 99, 2**40]))


def change_the_output(model: onnx.ModelProto, rng: np.random.Generator) -> None:
    names = ["ghost", "", model.graph.input[0].name, model.graph.initializer[0].name]
    names += [proto.output[0] for proto in model.graph.node]
    model.graph.output[0].name = names[pick(names, rng)]


def make_external(model: onnx.ModelProto, rng: np.random.Generator) -> None:
    tensor = model.graph.initializer[pick(model.graph.initializer, rng)]
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", "nowhere.bin"), ("offset", "-7"), ("length", "many")):
        if rng.random() < 0.7:
            tensor.external_data.add(key=key, value=value)


MUTATIONS: tuple[Mutation, ...] = (
    shuffle_nodes,
    remove_a_node,
    duplicate_a_node,
    change_an_operator,
    rewire_an_input,
    add_or_remove_an_input,
    read_itself,
    change_an_attribute,
    add_an_attribute,
    change_a_weight,
    change_a_shape,
    replace_a_weight,
    change_the_input,
    change_the_opset,
    change_the_output,
    make_external,
)
