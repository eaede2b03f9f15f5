"""The words of random messages: their places, and what the pipeline predicts without some of them.

Messages are made of many alphabets, accents, ligatures and signs. The pipeline itself is asked: its
analyzer about each part that is marked, and its ``predict`` about messages with words cut out.
"""

import re
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

from milp_verix import InputError, Message
from milp_verix.models.onnx.text_model import WordReader
from milp_verix.views.labels import marked_words

pytest.importorskip("sklearn")

from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

WORDS = (  # noqa: SIM905
    "free FREE Prize café cafe\u0301 CAFÉ ﬁne ﬂag x² ½ naïve İstanbul ISTANBUL straße STRASSE "
    "ΟΔΟΣ οδος Ϊ́δρα привет ПРИВЕТ مرحبا می\u200cخواهم नमस्ते สวัสดี 你好 中 한국어 ｆｕｌｌ n\u0303o "
    "a1b2 don't a-b e-mail 3.50 win2day the of é \u0301 ß ŉ \ufb03x"
).split()
SIGNS = (
    *"-!_\n\t'\u00ad\u202e\u00b4\u00a0\u0307\U000f0000\x1b🎉",
    *(" ", "  ", " ", " ", ", ", "<b>", "&amp; ", " \ue000", "\ue001 ", "👩\u200d👧"),
)


def without_tags(text: str) -> str:
    return text.replace("<b>", " ").lower()


def without_accents(text: str) -> str:
    return text.translate({ord("é"): "e", 0x301: None, ord("ﬁ"): "fi"})


SETTINGS: dict[str, dict[str, Any]] = {
    "usual": {},
    "ascii": {"strip_accents": "ascii"},
    "unicode": {"strip_accents": "unicode"},
    "as it is": {"lowercase": False},
    "unicode, one letter": {"strip_accents": "unicode", "token_pattern": r"(?u)\b\w+\b"},
    "one letter": {"token_pattern": r"\w+"},
    "a group": {"token_pattern": r"(?u)\b(\w+)'?\w*\b"},
    "letters or digits": {"token_pattern": r"[a-z]+|[0-9]+|[^\W\d_]"},
    "signs": {"token_pattern": r"\w+|[^\w\s]"},
    "parts": {"token_pattern": r"\S+"},
    "hyphens": {"token_pattern": r"\w+(?:[-']\w+)*"},
    "stop words": {"stop_words": ["the", "of", "free"]},
    "binary": {"binary": True},
    "looks": {"token_pattern": r"(?<!\w)\w\w+(?!\w)"},
    "folded": {"preprocessor": str.casefold},
    "tags": {"preprocessor": without_tags},
    "split": {"tokenizer": str.split, "token_pattern": None},
    "no accents": {"strip_accents": without_accents},
}


def text_of(rng: np.random.Generator, count: int) -> str:
    words, signs = rng.choice(WORDS, count), rng.choice(SIGNS, count + 1)
    return "".join(f"{sign}{word}" for sign, word in zip(signs, words, strict=False)) + signs[-1]


def pipeline_of(name: str, rng: np.random.Generator) -> Any:
    """Return a pipeline that was fitted on random messages."""
    kind = [CountVectorizer, TfidfVectorizer][int(rng.integers(2))]
    last = [LogisticRegression(C=100), DecisionTreeClassifier(random_state=0)]
    vectorizer = kind(**SETTINGS[name])
    texts = [text_of(rng, int(rng.integers(2, 12))) for _ in range(30)]
    labels = rng.permutation(np.arange(30) % 2)
    return make_pipeline(vectorizer, last[int(rng.integers(2))]).fit(texts, labels)


def cut(text: str, places: Sequence[tuple[int, int]], gap: str) -> str:
    for start, stop in sorted(places, reverse=True):
        text = text[:start] + gap + text[stop:]
    return text


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", SETTINGS)
def test_marked_words_are_the_words(name: str, text_seed: int) -> None:
    rng = np.random.default_rng([text_seed, *name.encode()])
    told, tries = 0, 0
    while told < 2:
        tries += 1
        assert tries < 200
        pipeline, text = pipeline_of(name, rng), text_of(rng, int(rng.integers(2, 7)))
        analyze, known = pipeline[0].build_analyzer(), pipeline[0].vocabulary_
        try:
            message = Message.of(pipeline, text, add=[str(rng.choice([*known]))])
        except InputError as error:
            if not re.search("by their neighbours|knows no word", str(error)):
                raise
            continue
        assert message.inputs.passage is not None
        spans = message.inputs.passage.spans
        placed = sum(map(len, spans))
        read = [word for word in analyze(text) if word in known]
        assert placed in (0, len(read))
        told += placed > 0
        found = message.problem().explain()
        kept, shown = message.kept(found), "".join(part for part, _ in marked_words(found))
        marked = [part for part, needed in marked_words(found) if needed]
        if not placed:
            assert marked == list(kept)
            assert shown == text + " [words: " * bool(kept) + ", ".join(kept) + "]" * bool(kept)
            continue
        assert shown == text
        assert [word for part in marked for word in analyze(part)] == [w for w in read if w in kept]
        assert all(len(analyze(part)) == 1 for part in marked)
        label = pipeline.predict([text])[0]
        free = [
            (word, place)
            for word, places in zip(message.words, spans, strict=True)
            if word not in kept
            for place in places
        ]
        ways = product((False, True), repeat=min(len(free), 7))
        outs = [[place for (_, place), one in zip(free, way, strict=False) if one] for way in ways]
        left = [cut(text, out, gap) for out in outs for gap in ("", " ")]
        wrong = np.array(left)[pipeline.predict(left) != label]
        assert not wrong.size, (text, kept)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"token_pattern": r"\w+(?= prize)"}, "free prize"),
        ({"token_pattern": r"(?<=free )\w+"}, "free prize"),
        ({"token_pattern": r"\d+ kg|\w+"}, "5 free kg"),
        ({"token_pattern": r"[a-z]+|[0-9]+"}, "free2win"),
        ({"token_pattern": r"\w+|!"}, "free!win"),
        ({"token_pattern": r"[^,]+"}, "free prize,win"),
        ({"tokenizer": lambda text: text.replace("not ", "not_").split()}, "free kg not"),
        ({"tokenizer": lambda text: [*dict.fromkeys(text.split())]}, "free kg"),
        ({"tokenizer": lambda text: text.split()[:2]}, "win free prize"),
        ({"preprocessor": lambda text: text.replace("free kg", "kg")}, "free win kg"),
    ],
)
def test_words_that_depend_on_their_neighbours_are_refused(
    settings: dict[str, Any], text: str
) -> None:
    texts = ["free prize", "5 kg", "5 free kg", "free2win", "free!win!", "not good", "free win"]
    options = {"token_pattern": None, **settings} if "tokenizer" in settings else settings
    vectorizer = CountVectorizer(**options)
    pipeline = make_pipeline(vectorizer, LogisticRegression()).fit([*texts, text], [0, 1] * 4)
    more = ["free"] if "free" in vectorizer.vocabulary_ else []
    with pytest.raises(InputError, match="by their neighbours"):
        Message.of(pipeline, text, add=more)


def test_what_is_not_proven_of_a_vectorizer_is_told() -> None:
    texts = ["free prize", "lunch noon"]
    for settings, part in (
        ({}, None),
        ({"token_pattern": r"(?u)\b[a-z_'-]{2,}\b", "strip_accents": "unicode"}, None),
        ({"token_pattern": r"(?<!\S)\w+(?!\S)"}, "token_pattern"),
        ({"token_pattern": r"[^ ]+"}, "token_pattern"),
        ({"tokenizer": str.split, "token_pattern": None}, "tokenizer"),
        ({"preprocessor": str.lower}, "preprocessor"),
    ):
        vectorizer = CountVectorizer(**settings)
        pipeline = make_pipeline(vectorizer, LogisticRegression()).fit(texts, [0, 1])
        notes = Message.of(pipeline, "free lunch").problem().explain().notes
        told = [note for note in notes if "depend on their neighbours" in note]
        assert len(told) == (part is not None)
        assert all(f"the {part} of the vectorizer" in note for note in told)


def test_places_go_back_through_the_preprocessor() -> None:
    vectorizer = CountVectorizer(strip_accents="unicode").fit(["free prize cafe office οδος οδοσ"])
    reader = WordReader(vectorizer)
    text = "ﬁ is free cafe\u0301 oﬃce, ΟΔΟΣ"
    places = reader.places(text)
    assert [text[a:b] for a, b in places] == ["free", "cafe\u0301", "oﬃce", "ΟΔΟΣ"]
    assert reader.places("ΟΔΟΣ'Α free") == []  # alone it ends in another letter
    # half a ligature has no place
    halves = WordReader(CountVectorizer(strip_accents="unicode", token_pattern="f|i").fit(["f i"]))
    assert halves.words("ﬁ") == ["f", "i"]
    assert halves.places("ﬁ") == []


def test_files_are_no_messages() -> None:
    pipeline = make_pipeline(CountVectorizer(), LogisticRegression()).fit(["free", "noon"], [0, 1])
    pipeline[0].input = "filename"
    with pytest.raises(InputError, match="expected input='content'"):
        Message.of(pipeline, "free")


def test_a_pipeline_that_was_fitted_again_is_noticed() -> None:
    pipeline = make_pipeline(CountVectorizer(), LogisticRegression())
    message = Message.of(pipeline.fit(["free", "noon"], [0, 1]), "free noon")
    problem = message.problem()
    pipeline[0].set_params(encoding="ascii")  # without effect
    problem.explain()
    pipeline.fit(["free win", "noon"], [1, 0])
    for ask in (problem.explain, message.problem):
        with pytest.raises(InputError, match=r"fitted again after load_network or Message\.of"):
            ask()


def first_and_last(text: str) -> list[str]:
    words = text.split()
    return [*words[:1], *words[1:][-1:]]


def first_two(text: str) -> list[str]:
    return text.split()[:2]


@pytest.mark.parametrize(
    "read",
    [
        {"token_pattern": r"^\w+|\w+$"},
        {"token_pattern": r"\A\w+"},
        {"token_pattern": r"\w+ \w+|\w+"},
        {"tokenizer": first_and_last, "token_pattern": None},
        {"tokenizer": first_two, "token_pattern": None},
        {"preprocessor": lambda text: text[:9]},
    ],
    ids=["ends", "start", "pairs", "first and last", "first two", "nine letters"],
)
@pytest.mark.parametrize("text", ["free", "free prize", "zz free", "free yy"])
def test_words_that_depend_on_their_place_are_refused_whatever_the_message(
    read: dict[str, Any], text: str
) -> None:
    messages = ["free prize now", "win now", "win prize", "free", "now prize", "win"]
    reader = WordReader(CountVectorizer(**read).fit(messages))
    with pytest.raises(InputError, match="reads words by their neighbours"):
        reader.require_independent(text, reader.places(text), [])


def test_words_that_depend_on_another_of_the_message_are_refused() -> None:
    def by_topic(text: str) -> list[str]:
        words = text.split()
        return [f"m_{word}" if "money" in words else word for word in words]

    texts = ["free prize", "money lunch prize", "prize call free money"]
    reader = WordReader(CountVectorizer(tokenizer=by_topic, token_pattern=None).fit(texts))
    with pytest.raises(InputError, match="reads words by their neighbours"):
        reader.require_independent(texts[-1], reader.places(texts[-1]), [])


def test_words_of_a_tag_that_a_preprocessor_drops_are_no_words_of_the_message() -> None:
    dropped = {"preprocessor": lambda text: re.sub("<[^>]*>", " ", text)}
    reader = WordReader(CountVectorizer(**dropped).fit(["free prize", "title lunch"]))
    text = "free <a title=lunch rel='free prize'>prize</a> <i>lunch</i>"
    assert reader.places(text) == []
    reader.require_independent(text, [], [])


def test_other_words_refuse_no_vectorizer_that_reads_each_alone() -> None:
    messages = ["free prize, it's now", "win now!", "win-win prize", "free n't $"]
    for read in (
        {"tokenizer": str.split},
        {"token_pattern": r"[^\s,]+"},
        {"preprocessor": str.lower},
    ):
        reader = WordReader(CountVectorizer(**read).fit(messages))
        text = "win prize now"
        reader.require_independent(text, reader.places(text), [])
