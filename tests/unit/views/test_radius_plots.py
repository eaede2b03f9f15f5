"""Pictures of sweeps and radii: colours, keys and rows follow the record."""

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from milp_verix import EpsilonSweep, InputError, RobustnessRadii
from milp_verix.oracle.verdict import Statistics
from milp_verix.results.base import Counterfactual
from milp_verix.results.explanation import EpsilonSweep as PublicSweep
from milp_verix.results.ranges import RadiusBracket
from milp_verix.views.sweep_plot import level_colours
from tests.support.handmade_results import made


def swept(shape: tuple[int, ...], **more: object) -> EpsilonSweep:
    """Return a sweep whose feature i is irrelevant from level ``i % 3`` on; 0 to 2, and never."""
    size = int(np.prod(shape))
    levels = [
        made(
            shape,
            epsilon=epsilon,
            explained=[i for i in range(size) if i % 4 > number],
            **more,  # type: ignore[arg-type]
        )
        for number, epsilon in enumerate((0.4, 0.2, 0.1))
    ]
    return PublicSweep(levels=tuple(levels), nested=True, seconds=1.0)


def radii(shape: tuple[int, ...]) -> RobustnessRadii:
    """Return radii of each feature: those with odd numbers never matter."""
    base = made(shape)
    size = int(np.prod(shape))
    brackets = []
    for i in range(size):
        point = base.input.copy()
        point.reshape(-1)[i] += np.float32(0.5)
        found = None if i % 2 else Counterfactual(point, 5)
        lower, upper = (1.0, None) if i % 2 else (0.4, 0.5)
        brackets.append(RadiusBracket((i,), lower, upper, 1.0, found))
    shared = ("model", "input", "prediction", "norm", "delta", "domain", "groups", "feature_shape")
    return RobustnessRadii(
        **{name: getattr(base, name) for name in shared},
        epsilon=1.0,
        solver="phase",
        statistics=Statistics(),
        brackets=tuple(brackets),
        each=True,
        tolerance=0.01,
    )


def test_pixels_have_the_colour_of_their_level() -> None:
    figure = swept((8, 8)).plot()
    picture = np.asarray(figure.axes[1].images[0].get_array())
    for number, colour in enumerate(level_colours(3)):
        assert np.allclose(picture.reshape(-1, 3)[number::4], to_rgb(colour))
    never = picture.reshape(-1, 3)[3::4]
    assert np.ptp(never, axis=1).max() == 0
    assert never.min() > 0.6
    keys = [text.get_text() for text in figure.axes[2].get_legend().get_texts()]
    assert keys == [
        "ε = 0.4: 16 irrelevant",
        "ε = 0.2: 32 irrelevant (+16)",
        "ε = 0.1: 48 irrelevant (+16)",
        "at no radius: 16 features",
    ]


@pytest.mark.parametrize("count", [1, 2, 3, 6])
def test_colours_grow_lighter(count: int) -> None:
    light = [float(np.dot(to_rgb(c), (0.299, 0.587, 0.114))) for c in level_colours(count)]
    assert len(light) == count
    assert all(after - before > 0.05 for before, after in itertools.pairwise(light))


def test_a_flat_image_is_drawn_with_its_shape(tmp_path: Path) -> None:
    flat = swept((1, 192), image_shape=(8, 8, 3))
    assert np.asarray(flat.plot().axes[0].images[0].get_array()).shape == (8, 8, 3)
    flat.plot(tmp_path / "sweep.pdf")
    assert (tmp_path / "sweep.pdf").read_bytes().startswith(b"%PDF")
    with pytest.raises(InputError, match="suffix"):
        flat.plot(tmp_path / "sweep.txt")


def test_rows_of_a_table_show_each_level() -> None:
    names = tuple(f"name-{i}" for i in range(7))
    found = swept((7,))
    found = replace(
        found, levels=tuple(replace(level, feature_names=names) for level in found.levels)
    )
    axes = found.plot().axes[0]
    cells = np.asarray(axes.images[0].get_array())
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert sorted(labels) == sorted(names)
    for row, label in enumerate(labels):
        first = int(label[5:]) % 4
        assert cells[row].tolist() == [n if n >= first else 3 for n in range(3)]


def test_many_rows_show_the_features_freed_last() -> None:
    axes = swept((1, 100)).plot().axes[0]
    assert len(axes.get_yticklabels()) == 60
    assert np.asarray(axes.images[0].get_array())[-1].tolist() == [3, 3, 3]


def test_the_map_of_radii_leaves_out_what_never_matters() -> None:
    figure = radii((8, 8)).plot()
    shown = np.ma.filled(np.ma.masked_invalid(figure.axes[1].images[0].get_array()), -1.0)
    assert shown.reshape(-1)[::2].tolist() == [0.4] * 32
    assert shown.reshape(-1)[1::2].tolist() == [-1.0] * 32
    (key,) = figure.axes[0].get_legend().get_texts()
    assert key.get_text() == "irrelevant at all radii: 32 features"


def test_bars_of_radii_end_at_the_proofs() -> None:
    axes = radii((6,)).plot().axes[0]
    proven, open_ = ([bar.get_width() for bar in group] for group in axes.containers)
    assert proven == [0.4] * 3 + [1.0] * 3
    assert open_ == pytest.approx([0.1] * 3 + [0.0] * 3)


@pytest.mark.parametrize("shape", [(8, 8), (6,)])
def test_the_facts_tell_the_domain(shape: tuple[int, ...]) -> None:
    for found in (radii(shape), swept(shape)):
        (facts,) = (text.get_text() for text in found.plot().texts if " s" in text.get_text())
        assert "   ·   domain 0 to 1   ·   " in facts
