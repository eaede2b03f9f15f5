"""Explanations of messages, against all messages that the pipeline can see."""

import re
from itertools import product
from typing import Any

import numpy as np
import pytest

from milp_verix import InputError, Message, UnsupportedOperatorError

sklearn = pytest.importorskip("sklearn")

from sklearn.ensemble import RandomForestClassifier  # noqa: E402
from sklearn.feature_extraction.text import (  # noqa: E402
    CountVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.neural_network import MLPClassifier  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402

WORDS = "free prize win call now dear friend lunch report meeting thanks later".split()  # noqa: SIM905


def corpus() -> tuple[list[str], list[str]]:
    rng = np.random.default_rng(0)
    texts, labels = [], []
    for _ in range(120):
        spam = rng.random() < 0.5
        share = np.where(np.arange(len(WORDS)) < 5, 5.0 if spam else 1.0, 1.0 if spam else 4.0)
        chosen = rng.choice(WORDS, rng.integers(3, 9), p=share / share.sum())
        texts.append(" ".join(chosen))
        labels.append("spam" if spam else "ham")
    return texts, labels


def linear(vectorizer: Any, *more: Any) -> Any:
    return make_pipeline(vectorizer, *more, LogisticRegression(C=10.0)).fit(*corpus())


def network(activation: str) -> Any:
    classifier = MLPClassifier((4,), activation=activation, random_state=0, max_iter=300)
    return make_pipeline(TfidfVectorizer(), classifier).fit(*corpus())


PIPELINES = {
    "tf-idf": lambda: linear(TfidfVectorizer()),
    "tf-idf, l1, binary": lambda: linear(TfidfVectorizer(norm="l1", binary=True)),
    "counts": lambda: linear(CountVectorizer()),
    "counts, weighed": lambda: linear(CountVectorizer(), TfidfTransformer(use_idf=False)),
    "network": lambda: network("relu"),
}
TEXT = "FREE prize, dear friend: win a prize!"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", PIPELINES)
@pytest.mark.parametrize("add", [(), ("report", "free")])
def test_no_other_words_change_the_prediction(name: str, add: tuple[str, ...]) -> None:
    pipeline = PIPELINES[name]()
    message = Message.of(pipeline, TEXT, add=add)
    assert message.words[:5] == ("free", "prize", "dear", "friend", "win")
    found = message.problem().explain()
    assert not found.unknown_reasons
    label = pipeline.predict([TEXT])[0]
    most = np.maximum(message.counts, 1)
    every = np.array(list(product(*(range(n + 1) for n in most))))
    told = pipeline.predict([" ".join(np.repeat(message.words, row)) for row in every])

    def holds(kept: tuple[int, ...]) -> bool:
        same = np.all(every[:, list(kept)] == message.counts[list(kept)], axis=1)
        return bool(np.all(told[same] == label))

    assert holds(found.explanation)
    for feature in found.explanation:
        assert not holds(tuple(i for i in found.explanation if i != feature))
    assert found.sentence()
    assert message.sentence(found).startswith(label)


def test_words_are_marked_where_they_stand() -> None:
    pipeline = linear(CountVectorizer())
    texts = ("A FREE <b> prize & win, prize", "A meeting <b> friend & lunch, friend")
    # words of the class that an empty message does not have
    (text,) = (t for t in texts if pipeline.predict([t])[0] != pipeline.predict([""])[0])
    message = Message.of(pipeline, text)
    found = message.problem().explain()
    kept = message.kept(found)
    assert kept
    told = message.marked(found, before="[", after="]")
    page = message.page(found)
    for plain in re.findall(r"[A-Za-z]{2,}", text):
        assert (f"[{plain}]" in told) == (plain.lower() in kept)
        assert (f"<mark>{plain}</mark>" in page) == (plain.lower() in kept)
    assert told.replace("[", "").replace("]", "") == text
    assert "&lt;b&gt;" in page


def test_other_pipelines_and_messages_are_refused() -> None:
    fitted = linear(CountVectorizer())
    with pytest.raises(InputError, match="knows no word of the message"):
        Message.of(fitted, "nothing of it")
    with pytest.raises(InputError, match=r"does not know .* \['xylophone'\]"):
        Message.of(fitted, TEXT, add=["xylophone"])
    with pytest.raises(InputError, match="more than single words"):
        Message.of(linear(CountVectorizer(ngram_range=(1, 2))), TEXT)
    with pytest.raises(InputError, match="sublinear_tf"):
        Message.of(linear(TfidfVectorizer(sublinear_tf=True)), TEXT)
    with pytest.raises(InputError, match="a text pipeline is"):
        Message.of(LogisticRegression(), TEXT)
    with pytest.raises(InputError, match="not fitted"):
        Message.of(make_pipeline(CountVectorizer(), LogisticRegression()), TEXT)
    forest = make_pipeline(CountVectorizer(), RandomForestClassifier(3)).fit(*corpus())
    with pytest.raises(UnsupportedOperatorError, match="RandomForestClassifier"):
        Message.of(forest, TEXT)
