"""Text: the words of a message as features, which may go, and words that may come.

A pipeline of a vectorizer and a classifier of scikit-learn is a network of how often each word
stands in a message. An explanation is the set of words that have to stay (and of words that have to
stay out): whatever other words go, the prediction does not change.
"""

import html
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Any

import numpy as np

from milp_verix.api.problem_methods import Problem
from milp_verix.base.arguments import TEXTS, checked, names_of
from milp_verix.base.errors import InputError, printable
from milp_verix.inputs.feature import integer
from milp_verix.inputs.inputs import Inputs
from milp_verix.inputs.stored import Passage
from milp_verix.models.loaded_model import LoadedModel, Origin
from milp_verix.models.onnx.onnx_network import load_network
from milp_verix.models.onnx.text_model import (
    Place,
    TextPipeline,
    WordReader,
    text_model,
    text_trees,
)
from milp_verix.models.trees.readers import reader_of
from milp_verix.results.explanation import Explanation
from milp_verix.views.labels import marked_words
from verix_encodings.arrays import IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Message:
    """A message as a text pipeline of scikit-learn reads it.

    ``words`` are the words of it that the pipeline knows, in the order in which they first stand
    there, and then those that may be added; ``counts``, one each, how often they stand there.
    ``network`` computes the pipeline's scores from counts, and ``inputs`` describe these; their
    ``passage`` is the message.
    """

    words: tuple[str, ...]
    counts: IntArray
    network: LoadedModel
    inputs: Inputs

    @classmethod
    @checked(add=TEXTS)
    def of(cls, pipeline: Any, text: str, *, add: Iterable[str] = ()) -> "Message":
        """Return ``text`` as ``pipeline`` reads it.

        Args:
            pipeline: a fitted ``Pipeline`` of a ``CountVectorizer`` or ``TfidfVectorizer`` of
                single words and a linear classifier, an ``MLPClassifier`` or trees.
            text: the message.
            add: words that may be added, once each, where they do not stand in the message.

        Raises:
            InputError: the pipeline is no text pipeline or not fitted, it knows no word of the
                message, does not know a word that may be added, or reads a word otherwise where
                others beside it are left out.
            ModelError: the network's scores differ from the pipeline's.
            UnsupportedOperatorError: the classifier cannot be read.
        """
        if not isinstance(text, str):
            raise InputError(f"the message is a {type(text).__name__}, expected a text")
        parts = TextPipeline.of(pipeline)
        reader, known = WordReader(parts.vectorizer), parts.vectorizer.vocabulary_
        read = reader.words(text)
        words = list(dict.fromkeys(read))
        if not words:
            raise InputError("the pipeline knows no word of the message: nothing can be removed")
        added = names_of(add)
        more = [word for word in dict.fromkeys(added) if word not in words]
        if unknown := [word for word in more if word not in known]:
            raise InputError(f"the pipeline does not know the words that may be added: {unknown}")
        places = reader.places(text)
        reader.require_independent(text, places, more)
        counts = np.array([read.count(word) for word in words] + [0] * len(more))
        if parts.vectorizer.binary:
            counts = np.minimum(counts, 1)
        most = np.maximum(counts, 1)
        everything = (*words, *more)
        spans: dict[str, list[Place]] = {word: [] for word in everything}
        for word, place in zip(read, places, strict=False):
            spans[word].append(place)
        inputs = Inputs(
            [integer(word, 0, int(n)) for word, n in zip(everything, most, strict=True)],
            class_names=[str(name) for name in parts.estimator.classes_],
            passage=Passage(text, tuple(map(tuple, spans.values()))),
        )
        network: LoadedModel
        if reader_of(parts.estimator) is not None:
            network = text_trees(parts, everything, most)
        else:
            network = load_network(text_model(parts, everything, most))
        facts = replace(network.facts, notes=(*network.facts.notes, *reader.notes))
        again = partial(cls.of, pipeline, text, add=added)
        hashed = network.content_sha256
        origin = Origin([pipeline], lambda: again().network, hashed)
        return cls(everything, counts, replace(network, facts=facts, origin=origin), inputs)

    def problem(self, **options: Any) -> Problem:
        """Return the question which words keep the prediction, whatever others go.

        ``options`` are those of :class:`milp_verix.Problem`, but for ``inputs``; each word may go
        or come unless ``epsilon`` says otherwise. Raises as that does.
        """
        given = {"epsilon": inf, **options}
        return Problem(self.network, self.counts.astype(float), inputs=self.inputs, **given)

    def kept(self, explanation: Explanation) -> tuple[str, ...]:
        """Return the words of the message that the prediction rests on, in their order there."""
        return tuple(self.words[i] for i in sorted(explanation.explanation) if self.counts[i] > 0)

    def kept_out(self, explanation: Explanation) -> tuple[str, ...]:
        """Return the words that may be added, but whose absence the prediction rests on."""
        return tuple(self.words[i] for i in sorted(explanation.explanation) if self.counts[i] == 0)

    def marked(self, explanation: Explanation, *, before: str = "**", after: str = "**") -> str:
        """Return the message with ``before`` and ``after`` each word of the explanation.

        Where the places of words are not known, they are listed behind it.
        """
        return "".join(
            f"{before}{part}{after}" if needed else part
            for part, needed in marked_words(explanation)
        )

    def page(self, explanation: Explanation) -> str:
        """Return the message as a paragraph of HTML, with words of the explanation marked."""
        parts = [
            (html.escape(printable(part, "\n\t")), needed)
            for part, needed in marked_words(explanation)
        ]
        markup = "".join(f"<mark>{part}</mark>" if needed else part for part, needed in parts)
        return f'<p class="message">{markup}</p>'

    def sentence(self, explanation: Explanation) -> str:
        """Say in words what the explanation proves."""
        return explanation.sentence()
