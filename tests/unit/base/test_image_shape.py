"""A flat input is an image where that leaves no choice, or where the user says how."""

import json
import re
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from milp_verix import (
    ContrastiveExplanation,
    Enumeration,
    Explanation,
    InputError,
    OnnxNetwork,
    check,
    compare,
    contrastive,
    encode_check,
    enumerate_explanations,
    explain,
    load_network,
    minimum,
)
from milp_verix.base.image_shape import image_shape_of, shape_seen
from milp_verix.cli.app import app
from milp_verix.views.image_view import image_view
from tests.support.onnx_models import FLOAT, build, loaded, node
from tests.support.published_data import shared_file
from tests.support.random_networks import random_layers

GREY = np.linspace(0.2, 0.8, 20).reshape(4, 5)
COLOUR = np.linspace(0.2, 0.8, 48).reshape(4, 4, 3)
READ_BY_ROWS = "read row by row"


def taking(shape: tuple[int, ...], folder: Path) -> OnnxNetwork:
    """Return a network with an input of ``shape``; its weights depend on their number alone."""
    (W, a), (V, b) = random_layers(np.random.default_rng(1), (prod(shape), 5, 3))
    nodes = [
        node("Reshape", ["x", "row"], ["r"]),
        node("Gemm", ["r", "W", "a"], ["h"], transB=1),
        node("Relu", ["h"], ["s"]),
        node("Gemm", ["s", "V", "b"], ["y"], transB=1),
    ]
    constants = {"row": np.array([1, -1]), "W": W, "a": a, "V": V, "b": b}
    return loaded(build(nodes, inputs={"x": shape}, constants=constants, elem=FLOAT), folder)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(1, 20), (20,), (1, 20, 1), (1, 1, 1, 20)])
@pytest.mark.parametrize("given", [(4, 5), (1, 4, 5), (4, 5, 1), (1, 1, 4, 5)])
def test_a_grey_image_fits_a_flat_input(
    shape: tuple[int, ...], given: tuple[int, ...], tmp_path: Path
) -> None:
    net = taking(shape, tmp_path)
    found = explain(net, GREY.reshape(given), epsilon=0.3)
    expected = explain(net, GREY.reshape(-1), epsilon=0.3)
    assert found.explanation == expected.explanation
    assert 0 < found.size < 20
    assert (found.image_shape, found.feature_shape) == ((4, 5), (4, 5))
    assert any(READ_BY_ROWS in note and "(4, 5)" in note for note in found.notes)
    # a row of numbers may be anything: nothing is seen in it
    assert (expected.image_shape, expected.feature_shape) == (None, None)
    assert not any(READ_BY_ROWS in note for note in expected.notes)
    assert found.replay(net) == ()
    np.testing.assert_array_equal(net.evaluate(GREY.reshape(given)), net.evaluate(GREY.ravel()))


def test_what_was_seen_is_stored_drawn_and_freed(tmp_path: Path) -> None:
    found = explain(taking((1, 20), tmp_path), GREY, epsilon=0.3, features="pixels")
    again = Explanation.from_json(found.to_json(tmp_path / "found.json"))
    assert again.image_shape == (4, 5)
    for one in (found, again):
        view = image_view(one)
        assert view is not None
        assert (view.height, view.width, view.channels) == (4, 5, 1)
    data = json.loads((tmp_path / "found.json").read_text())
    assert data["image_shape"] == [4, 5]


@pytest.mark.parametrize("image_shape", [(4, 4, 3), (3, 4, 4), (1, 4, 4, 3)])
def test_pixels_of_a_flat_input_are_those_of_its_image(
    image_shape: tuple[int, ...], tmp_path: Path
) -> None:
    x = COLOUR.reshape(image_shape)
    shaped = explain(taking(image_shape, tmp_path), x, epsilon=0.3, features="pixels")
    flat = taking((1, 48), tmp_path)
    for given in (x, x.reshape(-1), x.reshape(1, 48)):
        options: dict[str, Any] = {"features": "pixels", "image_shape": image_shape}
        found = explain(flat, given, epsilon=0.3, **options)
        assert found.groups == shaped.groups
        assert len(found.groups) == 16
        assert found.explanation == shaped.explanation
        assert (found.image_shape, found.feature_shape) == (image_shape, (4, 4))
        view, expected = image_view(found), image_view(shaped)
        assert view is not None
        assert expected is not None
        np.testing.assert_array_equal(view.rgb(x), expected.rgb(x))
        # what the user said needs no note
        assert not any(READ_BY_ROWS in note for note in found.notes)


def test_every_question_takes_an_image_shape(tmp_path: Path) -> None:
    net = taking((1, 48), tmp_path)
    options: dict[str, Any] = {
        "epsilon": 0.3,
        "features": "pixels",
        "image_shape": np.array([3, 4, 4]),  # lengths may be any integers
    }
    x = COLOUR.reshape(3, 4, 4)
    assert minimum(net, x, **options).image_shape == (3, 4, 4)
    contrast = contrastive(net, x, **options)
    assert ContrastiveExplanation.from_json(contrast.to_json()).image_shape == (3, 4, 4)
    assert contrast.plot() is not None
    listed = enumerate_explanations(net, x, **options, limit=1)
    assert Enumeration.from_json(listed.to_json()).image_shape == (3, 4, 4)
    compared = compare(net, x, **options, task="explain", solvers=["highs"])
    assert compared.features == 16
    assert compared.runs[0].explanation is not None
    assert compared.runs[0].explanation.image_shape == (3, 4, 4)
    assert check(net, x, [0], **options).answer == check(net, x.ravel(), [0], **options).answer
    whole = encode_check(net, x, list(range(16)), **options)
    assert whole.program.columns == encode_check(net, x.ravel(), **options).program.columns


def test_a_comparison_sees_what_an_explanation_sees(tmp_path: Path) -> None:
    compared = compare(
        *(taking((1, 20), tmp_path), GREY),
        epsilon=0.3,
        features="pixels",
        task="explain",
        solvers=["highs"],
    )
    (run,) = compared.runs
    assert run.explanation is not None
    assert run.explanation.image_shape == (4, 5)
    assert any(READ_BY_ROWS in note for note in run.notes)


def test_groups_and_domains_may_have_the_images_shape(tmp_path: Path) -> None:
    net = taking((1, 20), tmp_path)
    rows = np.repeat(np.arange(4), 5).reshape(4, 5)
    low = np.zeros((4, 5))
    low[0] = 0.2
    found = explain(net, GREY, epsilon=0.3, features=rows, domain=(low, 1.0))
    expected = explain(net, GREY, epsilon=0.3, features=rows.ravel(), domain=(low.ravel(), 1.0))
    assert found.groups == expected.groups
    assert len(found.groups) == 4
    assert found.domain == expected.domain
    each = np.arange(20)[::-1].reshape(4, 5)  # numbers, not four groups of five
    assert explain(net, GREY, epsilon=0.3, features=each).groups == tuple((i,) for i in each.flat)


def test_a_domain_by_coordinate_is_replayed_for_an_image(tmp_path: Path) -> None:
    net = taking((1, 1, 4, 5), tmp_path)
    found = explain(net, GREY, epsilon=0.3, domain=(np.zeros((4, 5)), GREY + 0.25))
    assert found.counterfactuals
    assert Explanation.from_json(found.to_json()).replay(net) == ()


@pytest.mark.parametrize(
    ("shape", "given", "image_shape", "message"),
    [
        ((1, 48), (4, 4, 3), None, "say image_shape=(4, 4, 3) (--image-shape 4,4,3) if"),
        ((1, 48), (3, 4, 4), None, "say image_shape=(3, 4, 4)"),
        ((1, 48), (4, 4, 3), (3, 4, 4), "expected (1, 48) or (3, 4, 4)"),
        ((1, 20), (5, 4), (4, 5), "expected (1, 20) or (4, 5)"),
        ((1, 3, 4, 4), (4, 4, 3), None, "as many values, with other axes"),
        ((1, 20), (2, 10), None, "as many values, with other axes"),
        ((1, 2, 10), (4, 5), None, "as many values, with other axes"),
        ((1, 64), (20, 8, 8), None, "such as (8, 8). If it holds 20 inputs, give one"),
        ((1, 64), (5,), None, "64 values, in such a shape or in a row, or as an image"),
        ((1, 6), (5,), None, "6 values, in such a shape or in a row"),
        ((1, 6), (), None, "has shape (), expected (1, 6)"),
    ],
)
def test_an_array_that_does_not_fit_is_told_what_does(
    shape: tuple[int, ...],
    given: tuple[int, ...],
    image_shape: tuple[int, ...] | None,
    message: str,
) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        shape_seen(given, shape, image_shape)


@pytest.mark.parametrize(
    ("input_shape", "given", "message"),
    [
        ((1, 20), (5, 5), "image_shape=(5, 5) has 25 values, the network's input has 20"),
        ((1, 20), (2, 10), "image_shape=(2, 10) is no image"),
        ((1, 20), (-4, -5), "image_shape=(-4, -5) is no image"),
        ((1, 20), "4x5", "image_shape is (height, width) or (height, width, channels), got '4x5'"),
        ((1, 20), 20, "image_shape is (height, width) or (height, width, channels), got 20"),
        ((1, 20), (4.0, 5.0), "image_shape is (height, width) or (height, width, channels)"),
        ((1, 3, 4, 4), (4, 4, 3), "contradicts the network, whose input of shape (1, 3, 4, 4)"),
        ((4, 5), (5, 4), "contradicts the network"),
    ],
)
def test_an_image_shape_that_does_not_fit(
    input_shape: tuple[int, ...], given: Any, message: str
) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        image_shape_of(given, input_shape)


def test_an_image_shape_may_say_what_the_network_says() -> None:
    assert image_shape_of((4, 5), (1, 4, 5, 1)) == (4, 5)
    assert image_shape_of((1, 3, 4, 5), (3, 4, 5)) == (1, 3, 4, 5)


def run(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, [*map(str, arguments)])
    return done.exit_code, done.output


@pytest.mark.parametrize("said", ["4,4,3", "4x4x3", "4×4×3"])
@pytest.mark.parametrize("command", ["explain", "minimum", "contrastive", "enumerate", "compare"])
def test_every_command_takes_an_image_shape(command: str, said: str, tmp_path: Path) -> None:
    net = taking((1, 48), tmp_path)
    picture = (COLOUR * 255).astype(np.uint8)
    Image.fromarray(picture).save(tmp_path / "x.png")
    out = tmp_path / "out.json"
    given = (net.path, tmp_path / "x.png", "--epsilon", "0.3", "--features", "pixels")
    extra = {"compare": ("--solvers", "highs"), "enumerate": ("--limit", "1")}.get(command, ())
    code, text = run(command, *given, *extra, "--image-shape", said, "--json", out)
    # bounds and an attack decide all of them
    assert code == (5 if command == "compare" else 0), text
    data = json.loads(out.read_text())
    if command == "compare":
        assert data["features"] == 16
    else:
        assert (data["image_shape"], len(data["groups"])) == ([4, 4, 3], 16)
        np.testing.assert_allclose(data["input"][0], picture.ravel() / 255, rtol=1e-6)
    code, text = run(command, *given, *extra)
    assert code == 2
    assert "(--image-shape 4,4,3) if the channels of a pixel stand together" in text
    assert "(--image-shape 3,4,4) if each channel does" in text


def test_the_program_of_a_flat_image_is_written(tmp_path: Path) -> None:
    net = taking((1, 20), tmp_path)
    np.save(tmp_path / "x.npy", GREY)
    given = ("export", net.path, tmp_path / "x.npy", "--epsilon", 0.3, "--features", "pixels")
    code, text = run(*given, "--out", tmp_path / "seen.lp")
    assert code == 0, text
    code, text = run(*given, "--out", tmp_path / "said.lp", "--image-shape", "4,5")
    assert code == 0, text
    assert (tmp_path / "seen.lp").read_text() == (tmp_path / "said.lp").read_text()


def test_a_digit_fits_a_published_flat_network() -> None:
    net = load_network(shared_file("models/vnncomp-mnist-256x2.onnx"))
    with np.load(shared_file("data/mnist_test.npz")) as data:
        image, label = data["images"][10] / np.float32(255), data["labels"][10]
    found = explain(net, image, epsilon=0.005, features="pixels")
    assert found.prediction == label
    assert found.image_shape == (28, 28)


def test_pixels_of_a_published_flat_colour_network() -> None:
    net = load_network(shared_file("models/fame-gtsrb-cnn.onnx"))
    with np.load(shared_file("data/gtsrb10.npz")) as data:
        image = data["test_images"][0] / np.float32(255)
    found = explain(net, image, epsilon=0.01, features="pixels", image_shape=(32, 32, 3))
    assert len(found.groups) == 1024
    assert found.groups[1] == (3, 4, 5)
    with pytest.raises(InputError, match=r"say image_shape=\(32, 32, 3\).*, or \(3, 32, 32\)"):
        explain(net, image.ravel(), epsilon=0.01, features="pixels")
