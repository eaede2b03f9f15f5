"""Blocks of OMLT, filled by us and by OMLT itself."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from milp_verix import InputError, VerixFormulation
from tests.support.onnx_models import FLOAT, build, node, weights
from tests.support.random_networks import dense_model, random_layers

omlt = pytest.importorskip("omlt")
pyo = pytest.importorskip("pyomo.environ")


def named(model: onnx.ModelProto, dynamic: bool = True) -> onnx.ModelProto:
    """Return the model with names of nodes, which OMLT needs, and a batch of any size."""
    for number, one in enumerate(model.graph.node):
        one.name = f"node_{number}"
        if one.op_type == "Gemm":  # OMLT knows no defaults
            one.attribute.extend(map(onnx.helper.make_attribute, ("alpha", "beta"), (1.0, 1.0)))
    for value in (*model.graph.input, *model.graph.output):
        if dynamic and value.type.tensor_type.shape.dim:
            value.type.tensor_type.shape.dim[0].dim_param = "batch"
    return model


def drawn(seed: int, dynamic: bool = True) -> onnx.ModelProto:
    layers = random_layers(np.random.default_rng(seed), (3, 6, 5, 2))
    return named(dense_model(layers), dynamic)


def theirs(model: onnx.ModelProto, bounds: Any, scaling: Any = None) -> Any:
    from omlt.io import load_onnx_neural_network
    from omlt.neuralnet import ReluBigMFormulation

    return ReluBigMFormulation(load_onnx_neural_network(model, scaling, bounds))


def optimum(formulation: Any, sense: int) -> tuple[float, Any]:
    model = pyo.ConcreteModel()
    model.net = omlt.OmltBlock()
    model.net.build_formulation(formulation)
    outputs = [model.net.outputs[k] for k in formulation.output_indexes]
    model.goal = pyo.Objective(expr=outputs[0] - outputs[1], sense=sense)
    pyo.SolverFactory("appsi_highs").solve(model)
    return float(pyo.value(model.goal)), model


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("scaled", [False, True])
def test_the_optimum_is_that_of_omlt(seed: int, scaled: bool) -> None:
    model = drawn(seed)
    rng = np.random.default_rng(seed)
    bounds = {i: (float(rng.uniform(0, 0.4)), float(rng.uniform(0.6, 1))) for i in range(3)}
    scaling = None
    if scaled:
        from omlt.scaling import OffsetScaling

        scaling = OffsetScaling(*(rng.uniform(0.5, 2, size).tolist() for size in (3, 3, 2, 2)))
    for sense in (1, -1):
        ours = VerixFormulation(model, bounds, scaling=scaling)
        found, built = optimum(ours, sense)
        assert found == pytest.approx(optimum(theirs(model, bounds, scaling), sense)[0], abs=1e-5)
        assert ours.embedded is not None
        assert ours.block is built.net
        told = ours.embedded.check()
        assert told.difference < 1e-5
        x = [built.net.inputs[i].value for i in range(3)]
        y = [built.net.outputs[k].value for k in range(2)]
        if scaling is not None:
            x = list(scaling.get_scaled_input_expressions(dict(enumerate(x))).values())
            y = list(scaling.get_scaled_output_expressions(dict(enumerate(y))).values())
        assert told.inputs == pytest.approx(x, abs=1e-6)
        assert told.outputs == pytest.approx(y, abs=1e-6)


def test_indices_are_those_of_omlt() -> None:
    for dynamic in (True, False):
        model = drawn(0, dynamic)
        ours = VerixFormulation(model, [(0, 1)] * 3)
        other = theirs(model, dict.fromkeys(range(3), (0, 1)))
        block, reference = pyo.ConcreteModel(), pyo.ConcreteModel()
        block.s = pyo.Set(initialize=ours.input_indexes)
        reference.s = pyo.Set(initialize=list(other.input_indexes))
        assert list(block.s) == list(reference.s)


def test_a_padded_convolution_that_omlt_does_not_read() -> None:
    nodes = [
        node("Conv", ["x", "K"], ["c"], kernel_shape=[2, 2], pads=[1, 1, 0, 0]),
        node("LeakyRelu", ["c"], ["r"], alpha=0.1),
        node("Flatten", ["r"], ["f"]),
        node("Gemm", ["f", "B"], ["y"]),
    ]
    constants = {"K": weights(1, 1, 2, 2), "B": weights(9, 2, seed=4)}
    model = named(build(nodes, inputs={"x": (1, 1, 3, 3)}, constants=constants, elem=FLOAT), False)
    ours = VerixFormulation(model, [(0.0, 1.0)] * 9)
    assert ours.input_indexes[:2] == [(0, 0, 0, 0), (0, 0, 0, 1)]
    optimum(ours, 1)
    assert ours.embedded is not None
    assert ours.embedded.check().difference < 1e-5


def test_bounds_beside_the_file_and_refusals(tmp_path: Path) -> None:
    from omlt.io import write_onnx_model_with_bounds

    path = tmp_path / "net.onnx"
    write_onnx_model_with_bounds(path, drawn(1), [(0, 1), (0.25, 0.5), (0, 1)])
    ours = VerixFormulation(path)
    _, built = optimum(ours, 1)
    assert built.net.inputs[1].bounds == (0.25, 0.5)
    with pytest.raises(InputError, match="no bounds: give input_bounds"):
        VerixFormulation(drawn(1))
    for wrong in ([(0, 1)], {0: (0, 1)}, [0, 1, 2], [("a", "b")] * 3, 3):
        with pytest.raises(InputError, match="a pair of numbers for each of 3 inputs"):
            VerixFormulation(path, wrong)
    with pytest.raises(InputError, match="finite"):
        VerixFormulation(path, [(0, float("inf"))] * 3)
    Path(f"{path}.bounds.json").write_text("[1]")
    with pytest.raises(InputError, match="as OMLT writes them"):
        VerixFormulation(path)


def test_bounds_by_the_names_of_the_inputs() -> None:
    pd = pytest.importorskip("pandas")
    neural = pytest.importorskip("sklearn.neural_network")
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((60, 3)), columns=["a", "b", "c"])
    fitted = neural.MLPRegressor(hidden_layer_sizes=(4,), max_iter=20).fit(X, X.a - X.c)
    ends = {"c": (0.5, 0.75), "a": (0.0, 0.25), "b": (0.3, 0.4)}
    forms: list[Any] = [
        ends,
        pd.Series(ends),
        pd.DataFrame(ends),
        {2: ends["c"], 0: ends["a"], 1: ends["b"]},
    ]
    for given in forms:
        ours = VerixFormulation(fitted, given)
        model = pyo.ConcreteModel()
        model.net = omlt.OmltBlock()
        model.net.build_formulation(ours)
        assert [model.net.inputs[i].bounds for i in range(3)] == [ends[name] for name in "abc"]
        assert ours.embedded is not None
        assert ours.embedded.input_names == ("a", "b", "c")
    with pytest.raises(InputError, match="missing: c; extra: d"):
        VerixFormulation(fitted, {"a": (0, 1), "b": (0, 1), "d": (0, 1)})
    with pytest.raises(InputError, match=r"nothing tells the place"):
        VerixFormulation(drawn(1), {"a": (0, 1), "b": (0, 1), "c": (0, 1)})
