"""Audits in words, as HTML and as pictures."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import milp_verix
from milp_verix import Audit, Counterfactual, InputError
from milp_verix.base.stored_kinds import Prediction
from milp_verix.oracle.verdict import Answer, Statistics
from milp_verix.results.audit import Minimum
from milp_verix.results.base import ModelInfo
from milp_verix.views.audit_words import audit_headline, audit_outcome
from milp_verix.views.feature_status import AuditStatus, audit_statuses
from milp_verix.views.result_words import facts_of
from tests.support.digits_example import EPSILON, explained, images, network

SHA = "0123456789abcdef" * 4


def made(
    answer: Answer,
    audited: tuple[int, ...],
    certified: tuple[int, ...],
    undecided: tuple[int, ...] = (),
    shape: tuple[int, ...] = (1, 6),
    prediction: Prediction = 2,
    changed: Prediction = 5,
    **more: Any,
) -> Audit:
    """Return an audit by hand: what is drawn and told does not depend on a solver."""
    x = np.linspace(0, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape)
    tried = [f for f in certified if answer is Answer.HOLDS or f not in audited]
    moved = x.copy()
    moved.reshape(-1)[[i for i in range(x.size) if i not in audited]] += np.float32(0.1)
    return Audit(
        model=ModelInfo("model.onnx", SHA, shape, "float32", False, SHA),
        input=x,
        prediction=prediction,
        epsilon=0.1,
        norm="linf",
        delta=None if isinstance(prediction, int) else 0.5,
        domain=(0.0, 1.0),
        groups=tuple((i,) for i in range(x.size)),
        feature_shape=None,
        solver="highs",
        statistics=Statistics(checks=3, solves=2, seconds=1.5),
        explanation=audited,
        answer=answer,
        bound=-0.25 if answer is Answer.HOLDS else None,
        counterexample=Counterfactual(moved, changed) if answer is Answer.VIOLATED else None,
        unknown_reason="time limit" if answer is Answer.UNKNOWN else None,
        sound_set=certified,
        unknown_reasons=dict.fromkeys(undecided, "time limit"),
        counterfactuals={f: Counterfactual(x.copy(), changed) for f in tried if f not in undecided},
        **more,
    )


@pytest.mark.parametrize(
    ("audit", "headline", "outcome", "facts"),
    [
        (
            made(Answer.HOLDS, (1, 2), (1, 2)),
            "Prediction 2 is kept by 2 of 6 features in the ball, proven",
            "minimal: no feature can be left out",
            {
                "sound": "yes, proven: no margin is above -0.25",
                "minimality": "minimal: no feature can be left out",
            },
        ),
        (
            made(Answer.HOLDS, (1, 2, 4), (2, 4), (4,)),
            "Prediction 2 is kept by 3 of 6 features in the ball, proven",
            "too large by 1 feature, 1 undecided",
            {
                "minimality": "too large by 1 feature, 1 undecided",
                "left out": "1",
            },
        ),
        (
            made(Answer.HOLDS, (1, 2), (1, 2), (1,)),
            "Prediction 2 is kept by 2 of 6 features in the ball, proven",
            "minimality is not known, 1 undecided",
            {"minimality": "minimality is not known, 1 undecided"},
        ),
        (
            made(Answer.VIOLATED, (1,), (0, 1, 3), (3,)),
            "Prediction 2 is not kept by 1 of 6 features in the ball",
            "sound with 2 more (1 of them undecided)",
            {
                "sound": "no: a counterexample (→ 5), run by the model itself",
                "completion": "sound with 2 more (1 of them undecided), 3 in all",
                "added": "0, 3",
            },
        ),
        (
            made(Answer.UNKNOWN, (), (0, 1, 2, 3, 4, 5), (0, 1, 2, 3, 4, 5)),
            "Prediction 2: not known if 0 of 6 features keep it in the ball",
            "no completion is known",
            {"sound": "not known: time limit", "completion": "none found: time limit"},
        ),
    ],
)
def test_words(audit: Audit, headline: str, outcome: str, facts: dict[str, str]) -> None:
    assert audit_headline(audit) == headline
    assert audit_outcome(audit) == outcome
    told = dict(facts_of(audit))
    assert {name: told[name] for name in facts} == facts
    assert headline in repr(audit)


def test_the_smallest_sets_are_told() -> None:
    audit = made(
        *(Answer.VIOLATED, (1,), (0, 1, 3)),
        minimum=Minimum((0, 1), 2),
        completion=Minimum((0, 1, 3), 2),
    )
    told = dict(facts_of(audit))
    assert told["smallest sound set"] == "2 features, proven"
    assert told["smallest that holds it"] == "2 to 3 features"
    with pytest.raises(ValueError, match="lower bound"):
        Minimum((0,), 2)


def test_summary_and_html() -> None:
    audit = milp_verix.audit(network(), images()[15], explained(), epsilon=EPSILON)
    assert audit.summary().row_count == len(facts_of(audit))
    page = audit._repr_html_()
    assert page.count("<img") == 1
    assert "yes, proven" in page


def test_statuses() -> None:
    kept, removable, added, undecided, outside, _ = AuditStatus
    sound = made(Answer.HOLDS, (1, 2, 4), (2, 4), (4,))
    assert audit_statuses(sound) == (outside, removable, kept, outside, undecided, outside)
    refuted = made(Answer.VIOLATED, (1,), (0, 1, 3), (3,))
    assert audit_statuses(refuted) == (added, kept, outside, undecided, outside, outside)
    freed = made(Answer.VIOLATED, (1,), (0, 1, 3), (0, 3))
    assert audit_statuses(freed) == (undecided, kept, outside, undecided, outside, outside)
    nothing = made(Answer.VIOLATED, (1,), tuple(range(6)), (0, 2, 3, 4, 5))
    assert audit_statuses(nothing) == (outside, kept, *[outside] * 4)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(1, 6), (1, 8, 8, 1), (1, 5, 6, 3)])
@pytest.mark.parametrize("answer", list(Answer))
def test_pictures(answer: Answer, shape: tuple[int, ...], tmp_path: Path) -> None:
    certified = (1, 2) if answer is Answer.HOLDS else (0, 1, 2, 3, 5)
    audit = made(answer, (1, 2, 4) if answer is Answer.HOLDS else (1, 2), certified, shape=shape)
    path = tmp_path / "audit.png"
    figure = audit.plot(path)
    with Image.open(path) as image:
        assert min(image.size) > 200
    texts = [text.get_text() for axes in figure.axes for text in axes.texts] + [
        axes.get_title() for axes in figure.axes
    ]
    if len(shape) == 4:
        assert "Set audited" in texts
        assert ("Counterexample → 5" in texts) == (answer is Answer.VIOLATED)
        # the tint of a feature in the set is green
        panel = figure.axes[1].images[0].get_array()
        assert panel is not None
        red, green, blue = np.asarray(panel).reshape(-1, 3)[1 if shape[-1] == 1 else 0]
        assert green > max(red, blue)


def test_a_regression_is_drawn() -> None:
    audit = made(Answer.VIOLATED, (1,), (0, 1), prediction=(0.5,), changed=(-0.75,))
    label = audit.plot().axes[0].get_xlabel()
    assert label == "change of the counterexample (→ −0.75), in input units"
    assert dict(facts_of(audit))["prediction"] == "0.5"


def test_an_image_shape_that_does_not_fit() -> None:
    with pytest.raises(InputError, match="image_shape"):
        made(Answer.HOLDS, (1,), (1,)).plot(image_shape=(4, 4))


def test_features_have_their_names() -> None:
    names = ("age", "hours", "a", "b", "c", "d")
    audit = replace(made(Answer.HOLDS, (0, 1), (1,)), feature_names=names)
    assert dict(facts_of(audit))["left out"] == "age"
    labels = [label.get_text() for label in audit.plot().axes[0].get_yticklabels()]
    assert labels == list(names)
