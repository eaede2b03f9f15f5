"""The words of a message as a vectorizer of scikit-learn reads them, and their places in it.

A claim counts words: each of them is read alike, whatever other words go. A pattern of characters
that are no space reads the parts between spaces one by one; all else is tested alone.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain, compress, pairwise, product
from typing import Any

import numpy as np

from milp_verix.base.errors import InputError, shown

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
