"""The importance of many features is computed a few times for a sentence, not for each feature."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import milp_verix as mv
from milp_verix.results import importance


def test_a_sentence_computes_the_importance_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(0).normal(size=(80, 40))
    model = LogisticRegression().fit(x, x[:, 0] > 0)
    found = mv.importance(model, x[0], epsilon=1, domain=(-9, 9), time_limit=0.01)
    computed: list[None] = []
    brackets = importance.brackets
    monkeypatch.setattr(
        importance, "brackets", lambda *given: computed.append(None) or brackets(*given)
    )
    assert found.sentence()
    assert len(computed) < 40
