"""Operators that take tensors apart, put them together or resize them agree with onnxruntime."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike

from milp_verix import ModelError, UnsupportedOperatorError
from tests.support.onnx_models import FLOAT, assert_runs, build, loaded, node, weights


@pytest.mark.parametrize("operator", ["Mul", "Div"])
@pytest.mark.parametrize(
    ("shape", "other"),
    [((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 3), ()), ((2, 1), (1, 3)), ((3,), (2, 2, 3))],
)
def test_product_with_a_constant(
    tmp_path: Path, operator: str, shape: tuple[int, ...], other: tuple[int, ...]
) -> None:
    product = node(operator, ["x", "c"], ["y"])
    assert_runs(tmp_path, product, shape=shape, constants={"c": weights(*other)})
    if operator == "Mul":
        product = node(operator, ["c", "x"], ["y"])
        assert_runs(tmp_path, product, shape=shape, constants={"c": weights(*other)})


def test_a_division_by_zero(tmp_path: Path) -> None:
    constants = {"zero": np.array([1.0, 0.0, 1.0])}
    model = build([node("Div", ["x", "zero"], ["y"])], inputs={"x": (1, 3)}, constants=constants)
    with pytest.raises(ModelError, match="it divides by"):
        loaded(model, tmp_path)


@pytest.mark.parametrize("operator", ["Sum", "Mean"])
@pytest.mark.parametrize("inputs", [["x"], ["x", "c"], ["c", "x", "x", "h"]])
def test_sum_of_many(tmp_path: Path, operator: str, inputs: list[str]) -> None:
    nodes = [node("MatMul", ["x", "W"], ["h"]), node(operator, inputs, ["y"])]
    constants = {"W": weights(3, 3), "c": weights(2, 1)}
    assert_runs(tmp_path, *nodes, shape=(2, 3), constants=constants, elem=FLOAT)


@pytest.mark.parametrize("axis", [0, 1, -1, -3])
def test_concat(tmp_path: Path, axis: int) -> None:
    nodes = [
        node("Relu", ["x"], ["r"]),
        node("Concat", ["r", "c", "x", "r"], ["h"], axis=axis),
        node("Transpose", ["h"], ["y"]),
    ]
    assert_runs(tmp_path, *nodes, shape=(2, 3, 2), constants={"c": weights(2, 3, 2)}, elem=FLOAT)


@pytest.mark.parametrize(
    ("opset", "parts", "attributes", "count"),
    [
        (11, None, {"axis": 1, "split": [2, 4, 1]}, 3),
        (13, [2, 4, 1], {"axis": -1}, 3),
        (13, [7], {"axis": 1}, 1),
        (18, None, {"axis": 1, "num_outputs": 3}, 3),
        (13, None, {"axis": 0}, 2),
    ],
)
def test_split(
    tmp_path: Path, opset: int, parts: list[int] | None, attributes: dict[str, Any], count: int
) -> None:
    names = [f"p{k}" for k in range(count)]
    inputs = ["x"] if parts is None else ["x", "parts"]
    nodes = [
        node("Split", inputs, names, **attributes),
        # in another order, so that it matters which part is which
        node("Concat", names[::-1], ["y"], axis=attributes["axis"]),
    ]
    constants = {"parts": np.array(parts or [0])}
    assert_runs(tmp_path, *nodes, shape=(2, 7), constants=constants, opset=opset, elem=FLOAT)


LAST = 2**63 - 1


@pytest.mark.parametrize(
    ("starts", "ends", "axes", "steps"),
    [
        ([1], [3], None, None),
        ([0, 1], [2, 4], None, None),
        ([1], [LAST], [1], None),
        ([-3], [-1], [-1], None),
        ([0], [-1], [1], [2]),
        ([-1], [-LAST], [1], [-1]),
        ([4], [0], [1], [-2]),
        ([100], [-100], [1], [-1]),
        ([-100], [100], [0], [1]),
        ([3, 0], [0, 2], [1, 0], [-1, 1]),
    ],
)
def test_slice(
    tmp_path: Path,
    starts: list[int],
    ends: list[int],
    axes: list[int] | None,
    steps: list[int] | None,
) -> None:
    lists = {"starts": starts, "ends": ends, "axes": axes, "steps": steps}
    constants: dict[str, ArrayLike] = {k: np.array(v) for k, v in lists.items() if v is not None}
    inputs = ["x", *(name if lists[name] is not None else "" for name in lists)]
    assert_runs(
        tmp_path, node("Slice", inputs, ["y"]), shape=(3, 5), constants=constants, elem=FLOAT
    )


def test_slice_by_attributes(tmp_path: Path) -> None:
    slice_ = node("Slice", ["x"], ["y"], starts=[1, -4], ends=[3, 1000], axes=[0, 1])
    assert_runs(tmp_path, slice_, shape=(3, 5), opset=9, elem=FLOAT)


@pytest.mark.parametrize(
    ("axis", "indices"),
    [(0, [2, 0]), (1, [[0, 1], [-1, -2]]), (-1, 3), (0, -1), (1, [1, 1, 1])],
)
def test_gather(tmp_path: Path, axis: int, indices: object) -> None:
    gather = node("Gather", ["x", "indices"], ["h"], axis=axis)
    constants = {"indices": np.array(indices)}
    assert_runs(
        tmp_path,
        gather,
        node("Transpose", ["h"], ["y"]),
        shape=(3, 4, 2) if axis != -1 else (3, 4),
        constants=constants,
        elem=FLOAT,
    )


@pytest.mark.parametrize("mode", [None, "constant", "reflect", "edge", "wrap"])
@pytest.mark.parametrize("pads", [[0, 0, 0, 0], [1, 2, 0, 1], [0, -1, 1, -2], [-1, 3, 0, 0]])
def test_pad(tmp_path: Path, mode: str | None, pads: list[int]) -> None:
    if mode == "wrap" and min(pads) < 0:
        pads = [max(p, 0) for p in pads]
    attributes = {} if mode is None else {"mode": mode}
    inputs = ["x", "pads", "value"] if mode == "constant" else ["x", "pads"]
    constants = {"pads": np.array(pads), "value": np.array(0.75)}
    pad = node("Pad", inputs, ["y"], **attributes)
    assert_runs(tmp_path, pad, shape=(4, 5), constants=constants, elem=FLOAT, opset=19)


def test_pad_of_some_axes_and_by_attributes(tmp_path: Path) -> None:
    constants = {"pads": np.array([1, 2]), "axes": np.array([-1])}
    pad = node("Pad", ["x", "pads", "", "axes"], ["y"])
    assert_runs(tmp_path, pad, shape=(2, 3), constants=constants, elem=FLOAT, opset=18)
    pad = node("Pad", ["x"], ["y"], pads=[0, 1, 2, 0], value=-0.5)
    assert_runs(tmp_path, pad, shape=(2, 3), elem=FLOAT, opset=10)


@pytest.mark.parametrize(
    ("shape", "dims"), [((1, 3), [4, 1]), ((2, 1, 3), [2, 3]), ((3,), [2, 3]), ((1,), [2, 2])]
)
def test_expand(tmp_path: Path, shape: tuple[int, ...], dims: list[int]) -> None:
    expand = node("Expand", ["x", "dims"], ["h"])
    constants = {"dims": np.array(dims)}
    transpose = node("Transpose", ["h"], ["y"])
    assert_runs(tmp_path, expand, transpose, shape=shape, constants=constants, elem=FLOAT)


@pytest.mark.parametrize("repeats", [[1, 1], [2, 1], [1, 3], [2, 2]])
def test_tile(tmp_path: Path, repeats: list[int]) -> None:
    tile = node("Tile", ["x", "repeats"], ["y"])
    constants = {"repeats": np.array(repeats)}
    assert_runs(tmp_path, tile, shape=(2, 3), constants=constants, elem=FLOAT)


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_depth_to_space(tmp_path: Path, mode: str) -> None:
    operator = node("DepthToSpace", ["x"], ["y"], blocksize=2, mode=mode)
    assert_runs(tmp_path, operator, shape=(2, 12, 2, 3), elem=FLOAT)


def test_space_to_depth(tmp_path: Path) -> None:
    operator = node("SpaceToDepth", ["x"], ["y"], blocksize=2)
    assert_runs(tmp_path, operator, shape=(2, 3, 4, 6), elem=FLOAT)


def assert_resizes(
    tmp_path: Path, shape: tuple[int, ...], sizes: list[int], *, coordinates: str, **modes: str
) -> None:
    """Assert that an input of ``shape`` is resized to ``sizes`` as onnxruntime does it."""
    modes["coordinate_transformation_mode"] = coordinates
    resize = node("Resize", ["x", "", "", "sizes"], ["y"], **modes)
    constants = {"sizes": np.array(sizes)}
    assert_runs(tmp_path, resize, shape=shape, constants=constants, elem=FLOAT)


@pytest.mark.parametrize(
    "coordinates", ["asymmetric", "half_pixel", "pytorch_half_pixel", "align_corners"]
)
@pytest.mark.parametrize("rounding", ["round_prefer_floor", "floor", "ceil"])
@pytest.mark.parametrize("sizes", [[1, 1, 6, 8], [1, 1, 5, 7], [1, 1, 2, 3], [1, 1, 9, 1]])
def test_resize_to_sizes(tmp_path: Path, coordinates: str, rounding: str, sizes: list[int]) -> None:
    modes = {"mode": "nearest", "nearest_mode": rounding}
    assert_resizes(tmp_path, (1, 1, 3, 4), sizes, coordinates=coordinates, **modes)


@pytest.mark.parametrize("coordinates", ["asymmetric", "half_pixel", "align_corners"])
@pytest.mark.parametrize(
    "scales", [[1, 1, 2, 2], [1, 1, 1.5, 3], [1, 1, 0.5, 0.75], [1, 1, 2.6, 1.3]]
)
def test_resize_by_scales(tmp_path: Path, coordinates: str, scales: list[float]) -> None:
    resize = node(
        "Resize",
        ["x", "", "scales"],
        ["y"],
        mode="nearest",
        coordinate_transformation_mode=coordinates,
    )
    model = build(
        [resize, node("Reshape", ["y", "flat"], ["scores"])],
        inputs={"x": (1, 1, 4, 5)},
        outputs=["scores"],
        constants={"scales": np.array(scales, dtype=np.float32), "flat": np.array([1, -1])},
        elem=FLOAT,
    )
    network = loaded(model, tmp_path)
    x = weights(20).astype(np.float32)
    np.testing.assert_array_equal(network.ir.evaluate(x), network.evaluate(x))


@pytest.mark.parametrize(
    "coordinates", ["asymmetric", "half_pixel", "pytorch_half_pixel", "align_corners"]
)
@pytest.mark.parametrize("sizes", [[1, 2, 6, 8], [1, 2, 5, 7], [1, 2, 2, 3], [1, 2, 9, 1]])
def test_resize_linearly(tmp_path: Path, coordinates: str, sizes: list[int]) -> None:
    assert_resizes(tmp_path, (1, 2, 3, 4), sizes, mode="linear", coordinates=coordinates)


@pytest.mark.parametrize("seed", range(150))
def test_resize_where_the_nearest_hangs_on_rounding(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    coordinates = ["asymmetric", "half_pixel", "pytorch_half_pixel", "align_corners"][seed % 4]
    rounding = ["round_prefer_floor", "floor", "ceil"][seed % 3]
    size = int(rng.integers(2, 40))
    scales = np.array([1, round(float(rng.uniform(1, 3)), 1 + seed % 2)], dtype=np.float32)
    attributes = {"coordinate_transformation_mode": coordinates, "nearest_mode": rounding}
    resize = node("Resize", ["x", "", "scales"], ["y"], **attributes)
    model = build([resize], inputs={"x": (1, size)}, constants={"scales": scales}, elem=FLOAT)
    network, x = loaded(model, tmp_path), np.arange(size, dtype=np.float32)
    np.testing.assert_array_equal(network.ir.evaluate(x), network.evaluate(x))


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize(("operator", "opset"), [("Upsample", 9), ("Resize", 10)])
def test_upsample(tmp_path: Path, operator: str, opset: int, mode: str) -> None:
    upsample = node(operator, ["x", "scales"], ["y"], mode=mode)
    constants = {"scales": np.array([1.0, 1.0, 2.0, 3.0])}
    assert_runs(
        tmp_path, upsample, shape=(1, 2, 3, 4), constants=constants, elem=FLOAT, opset=opset
    )


@pytest.mark.parametrize(
    "attributes",
    [
        {"mode": "cubic"},
        {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize"},
        {"coordinate_transformation_mode": "tf_crop_and_resize"},
        {"nearest_mode": "simple"},
        {"nearest_mode": "round_prefer_ceil"},
    ],
)
def test_resizing_that_is_refused(tmp_path: Path, attributes: dict[str, str]) -> None:
    resize = node("Resize", ["x", "", "", "sizes"], ["y"], **attributes)
    model = build([resize], inputs={"x": (1, 2)}, constants={"sizes": np.array([1, 4])})
    with pytest.raises(UnsupportedOperatorError, match="it resizes in mode"):
        loaded(model, tmp_path)
