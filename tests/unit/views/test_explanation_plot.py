"""The figure of an explanation: what is written, what is drawn, what is saved."""

import os
import subprocess
import sys
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

from milp_verix import Explanation
from milp_verix.base.errors import InputError
from milp_verix.results.base import Counterfactual
from milp_verix.views import image_plot
from milp_verix.views.feature_status import Status
from milp_verix.views.image_view import MARK
from milp_verix.views.plot import FORMATS, plot, plot_format
from tests.support.described_results import described
from tests.support.handmade_results import made

SENSITIVITY = np.linspace(-2, 3, 64).tolist()
GROUPS = [list(range(16)), list(range(16, 64))]


def digit(**given: Any) -> Explanation:
    arguments = {"explained": range(10, 40), "sensitivity": SENSITIVITY, **given}
    return made((1, 1, 8, 8), **arguments)


def texts(figure: Figure) -> list[str]:
    found = figure.findobj(lambda artist: isinstance(artist, Text) and artist.get_visible())
    return [text.get_text() for text in found if isinstance(text, Text) and text.get_text()]


def titles(figure: Figure) -> list[str]:
    return [title for axes in figure.axes if (title := axes.get_title())]


CASES = {
    "grey image": digit(),
    "all undecided": made((8, 8), undecided=dict.fromkeys(range(64), "time limit")),
    "all irrelevant, no radius": digit(explained=(), epsilon=0.0),
    "undecided among explained": digit(undecided={1: "time limit", 2: "interrupted"}),
    "wide colour image": made((1, 3, 9, 21), explained=range(30)),
    "narrow image": made((40, 4), explained=range(30), sensitivity=[1e-9] * 160),
    "flattened image": made((4, 400), explained=range(30), sensitivity=[0.0] * 1600),
    "classes": made((8, 8), explained=range(20), changed={i: 10**i % 97 for i in range(20)}),
    "regression of an image": digit(prediction=(-1.5,), changed=(-123.456,), delta=0.5),
    "many outputs of an image": digit(
        prediction=(-1e9, 2e-9, 3.0, 4.0), changed=(-1e9, 2e-9, -3.5e7, 4.0), delta=1e-5
    ),
    "long file name": digit(file="a rather long name of a model " * 9 + ".onnx"),
    "table": made((1, 6), explained=[1, 4], undecided={3: "time limit"}, sensitivity=range(6)),
    "one feature": made((1, 1), explained=[0], sensitivity=[0.0]),
    "described input": described(explained=[0, 3, 4], undecided={1: "time limit"}),
    "described input, radii": described(explained=[2], radii=(5.0, 0.1, 1.0, 0.0, 2.0, 0.0)),
    "described input, nothing needed": described(),
    "described input, classes": described(explained=[0, 1, 2], changed={0: 0, 1: 1, 2: 0}),
    "described input, no class names": described(named=False, explained=[0, 4]),
    "described regression": described(
        named=False, explained=[0, 4], prediction=(1.5,), changed=(-2e-9,), delta=0.5
    ),
    "described input, many features": described(times=12, explained=[5, 40, 3]),
    "described input, long names": described(long=True, explained=range(6)),
    "values": made((1, 3), x=np.array([-1e6, 2.0, 1e-7]), domain=(-np.inf, np.inf)),
    "groups": made((1, 64), groups=GROUPS, explained=[1]),
    "long names": made(
        (1, 6), explained=[1, 4], feature_names=[f"{'name-' * 9}{i}" for i in range(6)]
    ),
    "names of pixels": digit(feature_names=[f"{'name-' * 9}{i}" for i in range(64)]),
    "minimum as asked": digit(
        sensitivity=None, undecided={1: "asked"}, lower_bound=3, must=(1, 2), must_not=(50,)
    ),
    "one counterfactual": made((1, 6), explained=[2], feature_names=list("abcdef")),
    "long table": made((60,), explained=range(50), changed={i: 1000 + i for i in range(50)}),
    "regression of a table": made(
        (1, 9),
        explained=range(9),
        prediction=(1.0, 2.0),
        changed=(1.0, -1.234e-8),
        delta=0.5,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_nothing_overlaps_and_nothing_is_cut_off(case: str) -> None:
    figure = plot(CASES[case])
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    undrawn = {text for axes in figure.axes for text in _undrawn(axes)}
    boxes = {
        text: text.get_window_extent(canvas.get_renderer())
        for text in figure.findobj(Text)
        if isinstance(text, Text) and text.get_visible() and text.get_text().strip()
        if text not in undrawn
    }
    width, height = canvas.get_width_height()
    for text, box in boxes.items():
        assert box.x0 >= 0, text
        assert box.y0 >= 0, text
        assert box.x1 <= width, text
        assert box.y1 <= height, text
        for other, its_box in boxes.items():
            assert other is text or not box.padded(-1).overlaps(its_box.padded(-1)), (text, other)


def _undrawn(axes: Axes) -> set[Text]:
    # ticks beyond the ends of their axis exist, but are not drawn
    hidden = set()
    for axis, ends in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
        for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
            if not min(ends) <= tick.get_loc() <= max(ends):
                hidden |= {tick.label1, tick.label2}
    return hidden


def test_the_headline_has_the_numbers() -> None:
    written = texts(plot(digit(undecided={1: "time limit", 2: "time limit"})))
    assert "Prediction 2, explained by 32 of 64 features" in written
    (facts,) = (text for text in written if "ε" in text)
    for fact in ("ε = 0.1 (L∞), domain 0 to 1", "2 undecided", "model.onnx", "1.50 s with highs"):
        assert fact in facts


def test_a_minimal_explanation_is_called_locally_minimal() -> None:
    assert any("locally minimal" in text for text in texts(plot(digit())))


def test_a_regression_has_its_values_and_delta() -> None:
    explanation = digit(prediction=(-1.5,), changed=(-2.25,), delta=0.5)
    figure = plot(explanation)
    assert "Prediction −1.5 (δ = 0.5), explained by 30 of 64 features" in texts(figure)
    assert any("δ = 0.5" in text for text in texts(figure))
    assert titles(figure)[-1].endswith("→ −2.25")
    assert "change of the output" in texts(figure)


def test_panels_of_an_image() -> None:
    assert titles(plot(digit(explained=()))) == ["Input", "Sensitivity", "Explanation"]
    no_order = plot(digit(explained=(), sensitivity=None))
    assert titles(no_order) == ["Input", "Explanation"]


def test_the_gallery_says_how_many_there_are() -> None:
    figure = plot(digit(changed={i: i % 3 + 3 for i in range(10, 40)}))
    assert any(text.startswith("8 of 30 counterfactuals") for text in texts(figure))
    captions = titles(figure)[3:]
    assert len(captions) == 8
    assert [caption[-1] for caption in captions] == sorted("33344455")
    assert captions[0].startswith("row 1 column ")
    all_shown = texts(plot(digit(explained=[7])))
    assert any(text.startswith("1 counterfactual ") for text in all_shown)


def test_the_freed_feature_is_outlined() -> None:
    figure = plot(digit(explained=[19]))
    (tile,) = (axes for axes in figure.axes if axes.get_title() == "row 2 column 3\n→ 5")
    lines = [a for a in tile.collections if isinstance(a, LineCollection)]
    assert to_hex(lines[-1].get_color()[0]) == MARK
    corners = np.concatenate(lines[-1].get_segments())
    assert (corners.min(axis=0) == [2.5, 1.5]).all()
    assert (corners.max(axis=0) == [3.5, 2.5]).all()


def test_a_counterfactual_is_drawn_as_its_difference_from_the_input() -> None:
    explanation = digit(explained=[19, 20], epsilon=0.02)
    figure = plot(explanation)
    (tile,) = (axes for axes in figure.axes if axes.get_title().startswith("row 2 column 3"))
    (image,) = tile.images
    expected = np.zeros((8, 8))
    expected[2, 3] = 0.02
    np.testing.assert_allclose(image.get_array(), expected, atol=1e-7)
    assert image.get_clim() == pytest.approx((0, 0.02), rel=1e-5)
    assert "change, in input units" in texts(figure)


def test_falls_and_rises_have_different_colours() -> None:
    explanation = digit(explained=[19, 20])
    x, found = explanation.input, dict(explanation.counterfactuals)
    down = x.copy()
    down[0, 0, 2, 4] -= np.float32(0.05)
    found[20] = Counterfactual(down, 5)
    figure = plot(replace(explanation, counterfactuals=found))
    tiles = {axes.get_title()[:14]: axes.images[0] for axes in figure.axes if axes.images}
    rise, fall = tiles["row 2 column 3"], tiles["row 2 column 4"]
    assert rise.get_clim() == fall.get_clim() == pytest.approx((-0.1, 0.1), rel=1e-5)
    assert fall.get_array()[2, 4] == pytest.approx(-0.05, rel=1e-5)
    assert rise.get_array()[2, 3] == pytest.approx(0.1, rel=1e-5)


def test_a_colour_pixel_shows_its_strongest_change_and_has_no_channel() -> None:
    pixels = [[i, i + 20, i + 40] for i in range(20)]
    explanation = made((3, 4, 5), explained=[7], groups=pixels)
    changed = explanation.input.copy()
    changed.reshape(-1)[[7, 27, 47]] += np.array([0.01, -0.03, 0.02], dtype=np.float32)
    found = {7: Counterfactual(changed, 5)}
    figure = plot(replace(explanation, counterfactuals=found))
    (tile,) = (axes for axes in figure.axes if axes.get_title().startswith("row 1 column 2"))
    assert "channel" not in tile.get_title()
    assert tile.images[0].get_array()[1, 2] == pytest.approx(-0.03, rel=1e-5)


def test_a_proven_minimum_is_called_that() -> None:
    written = texts(plot(digit(lower_bound=30)))
    assert any("globally minimum, proven" in text for text in written)
    assert not any("locally" in text for text in written)
    written = texts(plot(digit(lower_bound=27)))
    assert any("at most 3 features above the minimum" in text for text in written)


def test_names_of_a_table_keep_their_hyphens() -> None:
    names = ("capital-gain", "x", "y", "z", "a-1", "b")
    figure = plot(made((1, 6), x=-np.arange(6.0), explained=[0, 4], feature_names=names))
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == ["capital-gain = 0", "x = −1", "y = −2", "z = −3", "a-1 = −4", "b = −5"]
    assert {"capital-gain\n→ 5", "a-1\n→ 5"} <= set(texts(figure))


def test_sensitivity_is_centred_on_zero() -> None:
    axes = plot(digit()).axes[1]
    (image,) = axes.images
    assert image.get_clim() == (-3.0, 3.0)
    assert image.get_array()[0, 0] == -2.0


@pytest.mark.slow
def test_the_legend_names_what_is_there() -> None:
    def named(explanation: Explanation) -> list[str]:
        (legend,) = (a.get_legend() for a in plot(explanation).axes if a.get_legend())
        return [text.get_text() for text in legend.get_texts()]

    assert named(digit()) == ["explanation", "irrelevant"]
    assert named(digit(undecided={0: "t"})) == ["explanation", "undecided", "irrelevant"]
    assert named(CASES["all undecided"]) == ["undecided"]
    assert named(CASES["table"]) == ["explanation", "undecided", "irrelevant"]


def test_a_table_has_a_bar_per_feature_in_the_colour_of_its_status() -> None:
    figure = plot(CASES["table"])
    bars = figure.axes[0]
    assert [bar.get_width() for bar in bars.patches] == [5, 4, 3, 2, 1, 0]
    by_status = {status.colour: status for status in Status}
    drawn = [by_status[to_hex(bar.get_facecolor())] for bar in bars.patches]
    other = Status.IRRELEVANT
    assert drawn == [other, Status.EXPLANATION, Status.UNDECIDED, other, Status.EXPLANATION, other]
    assert bars.get_yticklabels()[0].get_text() == "feature 5 = 1"


def test_a_long_table_shows_the_most_important_features_and_says_so() -> None:
    figure = plot(CASES["long table"])
    assert len(figure.axes[0].patches) == 40
    assert "40 of 60 features: explaining ones first" in texts(figure)


def test_counterfactuals_of_a_table_show_their_changes() -> None:
    figure = plot(CASES["table"])
    assert any(text.startswith("2 counterfactuals") for text in texts(figure))
    assert {"feature 4\n→ 5", "feature 1\n→ 5"} <= set(texts(figure))
    (image,) = (image for axes in figure.axes for image in axes.images)
    changes = np.zeros((6, 2))
    changes[1, 0] = changes[4, 1] = 0.1  # the rows of features 4 and 1
    np.testing.assert_allclose(image.get_array(), changes, atol=1e-6)


@pytest.mark.slow
def test_a_file_name_is_not_a_formula() -> None:
    figure = plot(digit(file="$x_2$ <b>.onnx"))
    assert any("$x_2$ <b>.onnx" in text for text in texts(figure))
    assert figure.render()


def test_image_shape_makes_an_image_of_a_flat_input() -> None:
    flat = made((1, 64), explained=[3])
    assert titles(plot(flat)) == []
    assert titles(plot(flat, image_shape=(8, 8)))[0] == "Input"
    assert titles(flat.plot(image_shape=(4, 4, 4)))[0] == "Input"


def test_an_image_shape_that_does_not_fit_is_refused() -> None:
    with pytest.raises(InputError, match=r"\(28, 28\) has 784 values, and the input has 64"):
        plot(digit(), image_shape=(28, 28))


@pytest.mark.slow
def test_a_saved_picture_has_the_size_of_the_figure(tmp_path: Path) -> None:
    path = tmp_path / "picture.PNG"
    figure = plot(digit(), path)
    with Image.open(path) as picture:
        picture.load()
        assert picture.format == "PNG"
        assert picture.size == pytest.approx(150 * figure.get_size_inches(), abs=1)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", FORMATS)
def test_every_format_can_be_written(tmp_path: Path, suffix: str) -> None:
    start = {"pdf": b"%PDF", "svg": b"<?xml", "png": b"\x89PNG", "webp": b"RIFF"}
    path = tmp_path / f"picture.{suffix}"
    plot(CASES["table"], str(path))
    content = path.read_bytes()
    assert content.startswith(start.get(suffix, b""))
    if suffix not in ("pdf", "svg"):
        with Image.open(BytesIO(content)) as picture:
            picture.verify()


@pytest.mark.parametrize(
    ("name", "seen"), [("picture.bmp", "suffix '.bmp'"), ("picture", "no suffix")]
)
def test_an_unknown_format_is_refused_before_drawing(tmp_path: Path, name: str, seen: str) -> None:
    with pytest.raises(InputError, match=rf"{name}: it has (the )?{seen}.*\.png"):
        plot(digit(), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_the_format_of_a_path_is_its_suffix() -> None:
    assert plot_format("a.b/c.d.SVG") == "svg"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["missing/picture.png", "file/picture.png", "folder.png"])
def test_a_file_that_cannot_be_written_is_an_input_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(InputError, match=rf"cannot write the plot to .*{name}: \w+"):
        plot(digit(), tmp_path / name)


@pytest.mark.slow
def test_drawing_leaves_no_state_behind() -> None:
    explanation = digit()
    before = explanation.input.copy()
    settings = dict(mpl.rcParams)
    plot(explanation)
    assert dict(mpl.rcParams) == settings
    np.testing.assert_array_equal(explanation.input, before)
    assert explanation.plot().render() == explanation.plot().render()


@pytest.mark.slow
def test_pyplot_is_not_imported() -> None:
    module = image_plot.__name__
    code = f"import sys, {module}; sys.exit('matplotlib.pyplot' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["grey image", "table"])
def test_the_style_of_the_session_does_not_matter(case: str) -> None:
    expected = plot(CASES[case]).render()
    coloured = ("figure.facecolor", "savefig.facecolor", "text.color", "axes.labelcolor")
    with mpl.rc_context({**dict.fromkeys(coloured, "red"), "font.size": 20}):
        assert plot(CASES[case]).render() == expected


@pytest.mark.slow
def test_a_notebook_shows_the_figure_without_pyplot() -> None:
    figure = plot(digit())
    data, metadata = figure._repr_png_()
    with Image.open(BytesIO(data)) as picture:
        assert picture.width > metadata["width"] == figure.css_width


def test_changes_near_the_largest_numbers_are_drawn(tmp_path: Path) -> None:
    explanation = digit()
    far = {
        feature: replace(found, input=np.asarray(found.input, np.float64) * 1.6e308)
        for feature, found in explanation.counterfactuals.items()
    }
    drawn = replace(
        explanation,
        input=np.asarray(explanation.input, np.float64),
        model=replace(explanation.model, dtype="float64"),
        domain=(-np.inf, np.inf),
        epsilon=1.5e308,
        counterfactuals=far,
    )
    drawn.plot(tmp_path / "far.png")
    assert (tmp_path / "far.png").stat().st_size > 0
