"""An array of radii, one for each coordinate, in the shape of the input."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.text import Text
from rich.console import Console
from typer.testing import CliRunner

import milp_verix
from milp_verix import Explanation, InputError, Problem, Search, load_network
from milp_verix.cli.app import app
from milp_verix.views.wording import one_radius
from tests.support.onnx_models import build, loaded, node, weights

EXAMPLES = Path(__file__).parents[3] / "examples"
MODEL = EXAMPLES / "digits.onnx"
IMAGES = np.load(EXAMPLES / "digits.npz")["images"]
RADII = np.linspace(0.08, 0.16, 64).reshape(8, 8)


@pytest.mark.parametrize("shape", [(8, 8), (1, 8, 8), (1, 1, 8, 8), (64,)])
def test_an_array_of_the_shape_of_the_input(shape: tuple[int, ...]) -> None:
    found = milp_verix.explain(MODEL, IMAGES[0], epsilon=RADII.reshape(shape))
    assert found.radii == tuple(RADII.reshape(-1).tolist())
    other = len(found.irrelevant)
    assert f"with the other {other} pixels each within its own radius" in found.sentence()
    for point in found.counterfactuals.values():
        assert point is not None
        moved = np.abs(point.input - found.input).reshape(-1)
        assert (moved <= RADII.reshape(-1) + 1e-6).all()
        assert (moved > RADII.min()).any()


def test_a_sweep_over_arrays_of_radii() -> None:
    swept = milp_verix.epsilon_sweep(MODEL, IMAGES[0], epsilons=[RADII, 2 * RADII])
    for level, radii in zip(swept.levels, (2 * RADII, RADII), strict=True):
        assert level.radii == tuple(radii.reshape(-1).tolist())
    alone = milp_verix.explain(MODEL, IMAGES[0], epsilon=2 * RADII)
    assert swept.levels[0].explanation == alone.explanation
    posed = Problem(MODEL, IMAGES[0], epsilon=0.1)
    with pytest.raises(InputError, match="pose the problem with such radii") as refused:
        posed.sweep([RADII])
    assert len(str(refused.value)) < 400
    with pytest.raises(TypeError, match=r"epsilons': give several radii"):
        milp_verix.epsilon_sweep(MODEL, IMAGES[0])  # type: ignore[call-arg]


def test_nested_lists_are_an_array_of_radii() -> None:
    for given in (RADII.tolist(), RADII.reshape(1, 1, 8, 8).tolist()):
        assert Problem(MODEL, IMAGES[0], epsilon=given).radii == tuple(RADII.reshape(-1).tolist())
    with pytest.raises(InputError, match="epsilon has lists of different lengths"):
        Problem(MODEL, IMAGES[0], epsilon=[[0.1, 0.2], [0.1]])


def test_answers_are_those_of_listed_corners(tmp_path: Path) -> None:
    """A check over a ball of a linear network is decided at the best corner of its own radii."""
    rng = np.random.default_rng(0)
    W = weights(5, 2, seed=3)
    made = build([node("Gemm", ["x", "W"], ["y"])], inputs={"x": (1, 5)}, constants={"W": W})
    network = loaded(made, tmp_path)
    for _ in range(40):
        x, radii = rng.random(5), rng.choice([0.0, 0.05, 0.3], 5)
        scores = x @ W
        label = int(scores.argmax())
        lower, upper = np.maximum(x - radii, 0.0), np.minimum(x + radii, 1.0)
        slope = W[:, 1 - label] - W[:, label]
        worst = np.where(slope > 0, upper, lower) @ slope
        if abs(worst) > 1e-4:
            answer = milp_verix.check(network, x, free=range(5), epsilon=radii).answer
            assert answer.name == ("VIOLATED" if worst > 0 else "HOLDS")


def test_they_are_stored_certified_and_told(tmp_path: Path) -> None:
    problem = Problem(MODEL, IMAGES[0], epsilon=RADII)
    found = problem.explain()
    found.to_json(tmp_path / "found.json")
    again = Explanation.from_json(tmp_path / "found.json")
    assert again.radii == found.radii
    assert again.sentence() == found.sentence()
    assert again.replay(load_network(MODEL)) == ()
    assert "row 0 column 2" in problem.contrastive().sentence()
    found.plot(tmp_path / "found.png")
    np.save(tmp_path / "radii.npy", RADII)
    image = f"{EXAMPLES / 'digits.npz'}:images[0]"
    options = ["--epsilon", str(tmp_path / "radii.npy"), "--certificate", str(tmp_path / "proof")]
    told = CliRunner().invoke(app, ["explain", str(MODEL), image, *options])
    assert told.exit_code == 0, told.output
    assert "ε of its own for each feature, 0.08 to 0.16" in told.output
    assert (tmp_path / "proof").exists()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"epsilon": RADII[:3]}, r"epsilon has the shape \(3, 8\), expected that of the input"),
        ({"epsilon": RADII, "norm": "l1"}, "goes with norm 'linf' alone"),
        ({"epsilon": RADII, "features": "pixels"}, "features frees several together"),
        ({"epsilon": -RADII}, "not negative"),
    ],
)
def test_other_arrays_are_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        Problem(MODEL, IMAGES[0], **options)


def test_a_list_stays_several_radii_in_studies(tmp_path: Path) -> None:
    several = milp_verix.explain_many(
        MODEL, IMAGES[:1], epsilon=[0.05, 0.1], journal=tmp_path / "several.jsonl"
    )
    one = milp_verix.explain_many(MODEL, IMAGES[:1], epsilon=RADII, journal=tmp_path / "one.jsonl")
    assert (several.total, one.total) == (2, 1)


QUESTIONS = ("explain", "minimum", "contrastive", "radius", "audit")


@pytest.mark.parametrize(
    ("question", "domain"),
    [
        *((question, domain) for question in QUESTIONS for domain in ((0, 1), (-10, 10))),
        ("inflate", (0, 1)),
        pytest.param("inflate", (-10, 10), marks=pytest.mark.slow),
    ],
)
def test_equal_radii_are_told_as_one(question: str, domain: tuple[int, int]) -> None:
    told = []
    for epsilon in (0.125, np.full((8, 8), 0.125)):
        problem = Problem(MODEL, IMAGES[0], epsilon=epsilon, domain=domain)
        given = [[0, 1]] if question == "audit" else []
        found = getattr(problem, question)(*given, search=Search(time_limit=30))
        assert "each by at most 0.125?" in str(problem)
        console = Console(file=io.StringIO(), width=200)
        console.print(found.summary())
        told.append(found.sentence() + repr(found) + console.file.getvalue())
        (figure,) = {part.figure for part in np.ravel(found.plot().axes)}
        told[-1] += " ".join(text.get_text() for text in figure.findobj(Text))
        for wrong in ("of its range", "% of their", "own unit", "feature's unit", "own radius"):
            assert wrong not in told[-1], wrong
    words = "within ±0.125 of their values" if question != "radius" else "input units"
    assert all(words in one.replace("\n", " ") for one in told)
    if question != "radius":
        assert all("ε = 0.125 (L∞)" in one for one in told)


def test_radii_that_are_one_share_of_the_domain_are_told_as_numbers() -> None:
    domain = np.zeros((8, 8)), np.linspace(1, 2, 64).reshape(8, 8)
    found = milp_verix.explain(MODEL, IMAGES[0], epsilon=0.125 * domain[1], domain=domain)
    assert "each within its own radius" in found.sentence()
    assert "%" not in found.sentence() + repr(found)


def test_equal_radii_on_the_command_line(tmp_path: Path) -> None:
    np.save(tmp_path / "radii.npy", np.full((8, 8), 0.125))
    image = f"{EXAMPLES / 'digits.npz'}:images[0]"
    for command in ("explain", "contrastive", "inflate"):
        given = [command, str(MODEL), image, "--epsilon", str(tmp_path / "radii.npy")]
        told = CliRunner().invoke(app, given)
        assert told.exit_code == 0, told.output
        assert "ε = 0.125 (L∞)" in told.output
        assert "their ranges" not in told.output


@pytest.mark.parametrize("question", ["explain", "contrastive"])
def test_a_radius_that_ends_is_told_beside_others_that_do_not(question: str) -> None:
    """With one radius for some and infinity for others, all were told as free in the domain."""
    radii = np.full((8, 8), np.inf)
    radii[0, 0] = 0.125
    problem = milp_verix.Problem(MODEL, IMAGES[0], epsilon=radii)
    found = getattr(problem, question)(search=milp_verix.Search(time_limit=1))
    assert not one_radius(found)
    assert "ε = ∞" not in str(found) + found.sentence()
