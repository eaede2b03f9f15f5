"""A fitted text pipeline of scikit-learn as a network of how often some words stand in a message.

    c                  counts of the words
    t = idf ∘ c
    z = t / max(‖t‖, m)      m the least idf: a message without words has the norm 0, and z = 0
    scores             the linear model or network of z, of the columns of these words

A binary vectorizer sees each word once. Other words are not in the message and stay out of it. All
numbers are float64. At counts that are whole numbers, these are scikit-learn's own; between them,
nothing is claimed.

A claim counts words: the vectorizer reads each of them alike, whatever other words go. A pattern of
characters that are no space reads the parts between spaces one by one; all else is tested alone.

Trees may stand in place of the last line. Without a norm, the number ``z = idf c`` of a word
depends on its own count alone: its conditions are asked at each whole number, and stand between
these. Behind a norm, the trees read the ``z`` of all words, which a network computes;
:class:`.PipelineRunner` runs the pipeline itself on messages. A word that is not in the message has
``z = 0``, which XGBoost takes for a missing value where the matrix is sparse. The least ``z`` of a
word that is there is known, and a condition below it is put halfway: no bound is so wide that it
mistakes one for the other.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, compress, pairwise, product
from typing import Any

import numpy as np
import onnx
import scipy.sparse as sp
from onnx import helper, numpy_helper

from milp_verix.base.errors import InputError, ModelError, UnsupportedOperatorError, shown
from milp_verix.inputs.fitted import LINEAR_CLASSIFIERS, name_of, not_fitted, without_search
from milp_verix.models.loaded_model import KnownFacts
from milp_verix.models.onnx.model_file import opened, serialised, write_facts
from milp_verix.models.onnx.onnx_network import load_network
from milp_verix.models.trees.behind_table import PipelineRunner, Steps
from milp_verix.models.trees.branching import Branching, Sides, Words
from milp_verix.models.trees.readers import reader_of
from milp_verix.models.trees.tree_network import TreeNetwork, tree_network
from verix_encodings.arrays import FloatArray, IntArray

Place = tuple[int, int]

_WAYS, _PAIRS, _OTHERS = 128, 2**16, 128
"""Ways to leave words out, pairs, and further words that are tested: for few, all of them."""
_PLAIN = re.compile(
    r"(\(\?[aiu]+\)|\(\?:|[()|+*?\w'@#-]|\{\d*,?\d*\}|\\[bwdS]|\[(\\[wd]|[\w'@#.&-])+\])+"
)
"""Patterns without a space, a class that may hold one, and a look at what is beside a word."""


class WordReader:
    """Reads words that ``vectorizer`` knows; ``notes`` tell if they may depend on neighbours."""

    def __init__(self, vectorizer: Any) -> None:
        self._vectorizer, self._known = vectorizer, vectorizer.vocabulary_
        self._analyze = vectorizer.build_analyzer()
        names = ("strip_accents", "preprocessor", "tokenizer", "token_pattern")
        parts = {name: getattr(vectorizer, name) for name in names}
        own = [name for name, part in parts.items() if callable(part)]
        plain = not own and _PLAIN.fullmatch(parts["token_pattern"])
        text = (
            f"that words do not depend on their neighbours was tested {_WAYS} times at most, not "
            f"proven: the {own[0] if own else 'token_pattern'} of the vectorizer is its own"
        )
        self.notes = () if plain else (text,)

    def words(self, text: str) -> list[str]:
        """Return the known words of ``text`` in their order."""
        return [word for word in self._analyze(text) if word in self._known]

    def places(self, text: str) -> list[Place]:
        """Return the start and the end of each of these words in ``text``; none if not known.

        They are the spans of the vectorizer's own pattern, taken back through its preprocessor
        where that turns characters, or else words, into others one by one. Of another tokenizer,
        they are known where spaces alone stand between words. Each part, read alone, is its word.
        """
        words = [[word] for word in self.words(text)]
        for places in self._likely_places(text):
            if [self.words(text[start:stop]) for start, stop in places] == words:
                return places
        return []

    def _likely_places(self, text: str) -> Iterator[list[Place]]:
        prepared = self._vectorizer.build_preprocessor()
        if self._vectorizer.tokenizer is not None:
            parts = re.finditer(r"\S+", text)
            yield [one.span() for one in parts if prepared(one[0]) in self._known]
            return
        seen, pattern = prepared(text), re.compile(self._vectorizer.token_pattern)
        known = {*self._known} - {*(self._vectorizer.get_stop_words() or ())}
        found, group = pattern.finditer(seen), pattern.groups
        spans = [one.span(group) for one in found if one[group] in known]
        for units in (list(text), re.findall(r"\w+|\W", text)):
            images = [prepared(unit) for unit in units]
            if "".join(images) == seen:
                here = [*accumulate(map(len, units), initial=0)]
                there = [*accumulate(map(len, images), initial=0)]
                # an end inside of an image fits no word; accents go with the letter before them
                ends = [[here[bisect_right(there, end) - 1] for end in span] for span in spans]
                yield [(start, stop) for start, stop in ends]

    def require_independent(self, text: str, places: Sequence[Place], more: Sequence[str]) -> None:
        """Raise ``InputError`` if a word is read otherwise where others are left out or come in.

        Words that come in are those of ``more``. They are left out with a space in their place and
        without: of ``text`` itself where ``places`` are known, of its words with spaces between
        them where not; then parts of ``text`` between spaces are left out, too, one by one.
        Further words are read beside each other, if the vectorizer is its own.
        """
        read = self.words(text)
        every = [*read, *more]
        self._require(" ".join(every), every)
        if self.notes:
            pairs = list(product(dict.fromkeys([*every, *self._others()]), repeat=2))
            some = [*chain.from_iterable(pairs[:: len(pairs) // _PAIRS + 1])]
            self._require(" ".join(some), some)
        parts = ["", *chain.from_iterable((word, " ") for word in read)]
        if places:
            ends = [0, *chain.from_iterable(places), len(text)]
            parts = [text[start:stop] for start, stop in pairwise(ends)]
        for kept in _ways(len(read)):
            for gap in ("", " "):
                left = [one if stays else gap for one, stays in zip(parts[1::2], kept, strict=True)]
                changed = chain.from_iterable(zip(parts[::2], [*left, ""], strict=True))
                self._require("".join(changed), [*compress(read, kept)])
        parts = [] if places else re.split(r"(\S+)", text)
        for at in range(1, len(parts), 2 * (len(parts) // _WAYS // 2 + 1)):
            before, gone = Counter(read), Counter(self.words(parts[at]))
            rest = "".join((*parts[:at], *parts[at + 1 :]))
            # a part may not be read where it stands, as in a tag that a preprocessor drops
            if gone and gone <= before and Counter(self.words(rest)) not in (before, before - gone):
                self._require(rest, [*(before - gone).elements()])

    def _others(self) -> list[str]:
        """Return some known words of letters and digits, each of which is read alone."""
        names = sorted(filter(str.isalnum, self._known))
        return [one for one in names[:: len(names) // _OTHERS + 1] if self.words(one) == [one]]

    def _require(self, message: str, words: list[str]) -> None:
        if (found := self.words(message)) != words:
            raise InputError(
                "the vectorizer reads words by their neighbours, or joins them: of the message "
                f"{shown(message)}, it takes {shown(found)}, expected {shown(words)}. Use a "
                "token_pattern that reads each word alone, and put spaces between words"
            )


def _ways(count: int) -> Iterable[Sequence[bool]]:
    """Return which of ``count`` words stay: all ways for few of them, random ones for many."""
    if 2**count <= _WAYS:
        return product((False, True), repeat=count)
    rng = np.random.default_rng(0)
    drawn: list[list[bool]] = (rng.random((_WAYS, count)) < rng.random((_WAYS, 1))).tolist()
    return drawn


_OPSET, _IR_VERSION = 17, 8
_ACTIVATIONS = {"relu": "Relu", "tanh": "Tanh", "logistic": "Sigmoid", "identity": "Identity"}
_ROUNDING = 1e-9
COMPARED = 24
"""Messages for which scores are compared with the pipeline's."""


def is_text_pipeline(model: Any) -> bool:
    """Return True for a pipeline, or a search over some, that begins with a vectorizer of text."""
    steps: Any = getattr(without_search(model)[0], "steps", None)
    return bool(steps) and name_of(steps[0][1]) in {"CountVectorizer", "TfidfVectorizer"}


@dataclass(frozen=True, slots=True)
class TextPipeline:
    """The parts of a fitted pipeline: its vectorizer, the weights behind it, and its classifier.

    ``idf`` has a factor for each word, ones without any; ``norm`` is l1, l2 or None.
    """

    pipeline: Any
    vectorizer: Any
    idf: FloatArray
    norm: str | None
    estimator: Any

    @classmethod
    def of(cls, pipeline: Any) -> "TextPipeline":
        """Return the parts of ``pipeline``; raises as :func:`text_model` does."""
        known = is_text_pipeline(pipeline)
        pipeline, _ = without_search(pipeline)
        steps = [step for _, step in getattr(pipeline, "steps", [])]
        names = [name_of(step) or type(step).__name__ for step in steps]
        between = {"TfidfTransformer", "FunctionTransformer"}
        if not known or len(steps) < 2 or not {*names[1:-1]} <= between:
            text = " → ".join(names) or type(pipeline).__name__
            raise InputError(
                "a text pipeline is a CountVectorizer or TfidfVectorizer, perhaps a "
                f"TfidfTransformer, and a classifier; got {text}"
            )
        vectorizer, estimator = steps[0], steps[-1]
        if not hasattr(vectorizer, "vocabulary_") or not hasattr(estimator, "classes_"):
            raise not_fitted(pipeline)
        if tuple(vectorizer.ngram_range) != (1, 1) or vectorizer.analyzer != "word":
            raise InputError(
                "the vectorizer counts more than single words, which overlap: use analyzer='word' "
                "and ngram_range=(1, 1)"
            )
        if vectorizer.input != "content":
            raise InputError(f"the vectorizer reads a {vectorizer.input}, expected input='content'")
        network = name_of(estimator) in LINEAR_CLASSIFIERS | {"MLPClassifier"}
        if not network and reader_of(estimator) is None:
            raise UnsupportedOperatorError(
                f"the classifier {type(estimator).__name__} of a text pipeline cannot be read: use "
                "a linear one, an MLPClassifier, or trees"
            )
        size = len(vectorizer.vocabulary_)
        for step in steps[1:-1]:
            if name_of(step) == "FunctionTransformer":
                _require_dense(step, size)
        weighing = [step for step in steps[:-1] if hasattr(step, "use_idf")]
        if len(weighing) > 1:
            raise InputError("the pipeline weighs its words twice: use one step with idf")
        if not weighing:
            return cls(pipeline, vectorizer, np.ones(size), None, estimator)
        (step,) = weighing
        if step.sublinear_tf:
            raise InputError("the pipeline takes logarithms of counts (sublinear_tf)")
        idf = np.asarray(step.idf_, dtype=np.float64) if step.use_idf else np.ones(size)
        return cls(pipeline, vectorizer, idf, step.norm, estimator)

    def scores(self, messages: Sequence[str]) -> FloatArray:
        """Return scikit-learn's own scores: of the decision function, or probabilities."""
        linear = name_of(self.estimator) in LINEAR_CLASSIFIERS
        way = self.pipeline.decision_function if linear else self.pipeline.predict_proba
        found = way(list(messages))
        return np.asarray(found, dtype=np.float64).reshape(len(messages), -1)


def text_model(parts: TextPipeline, words: Sequence[str], most: IntArray) -> onnx.ModelProto:
    """Return the network of the counts of ``words``, each of which stands ``most`` times at most.

    Its scores are compared with the pipeline's, for messages of some of the words. Raises
    ``InputError`` for a pipeline that is not known or not fitted, ``ModelError`` where scores
    differ, ``UnsupportedOperatorError`` for a classifier that cannot be read.
    """
    columns = [parts.vectorizer.vocabulary_[word] for word in words]
    graph = _Graph(len(words))
    last = _weighed(graph, parts, parts.idf[columns])
    model = graph.model(_classified(graph, last, parts.estimator, columns))
    _compare(parts, model, words, most)
    write_facts(model, KnownFacts(None, tuple(map(str, parts.estimator.classes_)), ()))
    return model


class _Graph:
    """A chain of nodes from the counts on."""

    input = "word_counts"

    def __init__(self, size: int) -> None:
        self._size = size
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []

    def constant(self, values: FloatArray) -> str:
        name = f"constant_{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.asarray(values, np.float64), name))
        return name

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        name = f"{operator.lower()}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def model(self, output: str) -> onnx.ModelProto:
        double = onnx.TensorProto.DOUBLE
        graph = helper.make_graph(
            self._nodes,
            "text",
            [helper.make_tensor_value_info(self.input, double, [1, self._size])],
            [helper.make_tensor_value_info(output, double, None)],
            self._constants,
        )
        return helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR_VERSION
        )


def _weighed(graph: _Graph, parts: TextPipeline, idf: FloatArray) -> str:
    """Add the weights and the norm of the counts; return the tensor ``z``."""
    if parts.norm is None and np.all(idf == 1.0):
        return graph.input
    t = graph.add("Mul", graph.input, graph.constant(idf))
    if parts.norm is None:
        return t
    operator = {"l1": "ReduceL1", "l2": "ReduceL2"}[parts.norm]
    length = graph.add(operator, t, axes=[1], keepdims=1)
    return graph.add("Div", t, graph.add("Max", length, graph.constant(idf.min()[None])))


def _classified(graph: _Graph, last: str, estimator: Any, columns: list[int]) -> str:
    """Add the classifier, of these columns of its features; return the tensor of its scores."""
    if name_of(estimator) in LINEAR_CLASSIFIERS:
        weights = np.atleast_2d(estimator.coef_)[:, columns].T
        shift = np.broadcast_to(estimator.intercept_, weights.shape[1])
        return graph.add("Gemm", last, graph.constant(weights), graph.constant(shift))
    layers = len(estimator.coefs_)
    each = zip(estimator.coefs_, estimator.intercepts_, strict=True)
    for place, (weights, shift) in enumerate(each):
        rows = weights[columns] if place == 0 else weights
        last = graph.add("Gemm", last, graph.constant(rows), graph.constant(shift))
        final = place == layers - 1
        kind = "Softmax" if estimator.out_activation_ == "softmax" else "Sigmoid"
        last = graph.add(kind if final else _ACTIVATIONS[estimator.activation], last)
    return last


def _require_dense(step: Any, size: int) -> None:
    """Raise ``InputError`` unless ``step`` only makes matrices dense, of random numbers."""
    rng = np.random.default_rng(0)
    for drawn in (rng.random, lambda count: rng.integers(1, 8, count)):
        numbers = np.zeros((COMPARED, size))
        for row in numbers:
            row[rng.integers(0, size, 100)] = drawn(100)
        found = step.transform(sp.csr_matrix(numbers))
        found = found.toarray() if hasattr(found, "toarray") else np.asarray(found)
        if found.shape != numbers.shape or not np.array_equal(found, numbers):
            raise InputError(
                "a FunctionTransformer of a text pipeline may make a matrix dense and do no more: "
                "this one changes numbers"
            )


def _compare(
    parts: TextPipeline, model: onnx.ModelProto, words: Sequence[str], most: IntArray
) -> None:
    """Raise ``ModelError`` unless the model's scores are the pipeline's for some messages."""
    rng = np.random.default_rng(0)
    counts = rng.integers(0, most + 1, (COMPARED, most.size))
    counts[0], counts[1] = most, 0
    messages = [" ".join(np.repeat(words, row)) for row in counts]
    session = opened(serialised(model))
    found = np.concatenate(
        [session.run(None, {_Graph.input: row[None].astype(float)})[0] for row in counts]
    )
    expected = parts.scores(messages)
    if found.shape[1] < expected.shape[1]:  # probabilities of both of two classes
        expected = expected[:, 1:]
    off = np.abs(found - expected).max(initial=0.0)
    if not off <= _ROUNDING * (1.0 + np.abs(expected).max(initial=0.0)):
        raise ModelError(
            f"the scores read from the text pipeline differ from its own by {off:.2g} for a "
            "message of some of the words: it may take words apart that stand alone, or stem them"
        )


_BLUR = 1e-11
"""The distance between numbers ``z`` of scikit-learn and ours, of messages of 10,000 words."""
_CLOSE = 1e-9


@dataclass(frozen=True, slots=True)
class Messages:
    """The messages of counts of ``words``."""

    words: tuple[str, ...]

    def table(self, rows: FloatArray) -> list[str]:
        """Return a message for each row, in which each word stands as often as the row says."""
        counts = np.asarray(rows).astype(np.intp)
        return [" ".join(np.repeat(self.words, row)) for row in counts]


def text_trees(parts: TextPipeline, words: Sequence[str], most: IntArray) -> TreeNetwork:
    """Return the trees at the end of a text pipeline, of the counts of ``words``.

    Each of these stands ``most`` times at most. The trees are compared with the pipeline for
    messages of some of the words. Raises as the reader of the trees does, and ``ModelError`` where
    scores differ.
    """
    reader = reader_of(parts.estimator)
    assert reader is not None
    inner = reader(parts.estimator)
    vocabulary = parts.vectorizer.vocabulary_
    if inner.inputs != len(vocabulary):
        raise InputError(f"the trees take {inner.inputs} numbers, not the {len(vocabulary)} words")
    before = Steps(tuple(step for _, step in parts.pipeline.steps[:-1]))
    numbers = before([words[0]])
    if numbers.dtype.itemsize < 8 and (parts.norm or np.any(parts.idf != 1.0)):
        raise InputError("the pipeline weighs its words in float32: fit it with dtype=np.float64")
    missing = inner.sparse_zeros_missing and hasattr(numbers, "toarray")
    place = {vocabulary[word]: number for number, word in enumerate(words)}
    idf = parts.idf[[vocabulary[word] for word in words]]
    pulled = _Pulled(place, idf, most, parts.norm, missing)
    rng = np.random.default_rng(0)
    rows = rng.integers(0, most + 1, (COMPARED, most.size)).astype(np.float64)
    rows[0], rows[1] = most, 0
    normed, graph = parts.norm is not None, _Graph(len(words))
    read = replace(
        inner,
        trees=tuple(pulled.tree(tree).as_thresholds() for tree in inner.stored),
        stored=(),
        inputs=len(words),
        runner=PipelineRunner(Messages(tuple(words)), before, inner.runner, parts.pipeline),
        columns=tuple(words),
        words={},
        points=rows,
        before=load_network(graph.model(_weighed(graph, parts, idf))) if normed else None,
        blur=_BLUR if normed else 0.0,
    )
    return tree_network(read)


@dataclass(frozen=True, slots=True, eq=False)
class _Pulled:
    """Conditions on ``z`` of words, by their columns' ``place``, as ones on counts, or ``z``."""

    place: dict[int, int]
    idf: FloatArray
    most: IntArray
    norm: str | None
    missing: bool

    def tree(self, tree: Branching) -> Branching:
        """Return the tree with these conditions."""
        feature = np.array(tree.feature)
        sides: dict[int, Sides | Words] = {}
        for node in np.flatnonzero(tree.feature >= 0).tolist():
            number = self.place.get(int(tree.feature[node]))
            feature[node] = 0 if number is None else number
            sides[node] = self._sides(tree, node, number)
        return replace(tree, feature=feature, sides=sides)

    def _sides(self, tree: Branching, node: int, number: int | None) -> Sides:
        there = tree.decision(node)
        counts = np.arange(1 if number is None else self.most[number] + 1)
        z = counts * (1.0 if number is None else self.idf[number])
        left = there.goes_left(z)
        if self.missing:
            left = np.append(tree.missing_left[node], left[1:])
        if number is None or self.norm is None:
            return Sides(counts[:-1] + 0.5, left)
        others = self.idf * self.most
        others[number] = self.idf[number]
        least = others[number] / np.linalg.norm(others, ord={"l1": 1, "l2": 2}[self.norm])
        first = int(np.searchsorted(there.ends, least * (1 - _CLOSE)))
        ends = np.concatenate([[least / 2], there.ends[first:]])
        return Sides(ends, np.concatenate([left[:1], there.left[first:]]))
