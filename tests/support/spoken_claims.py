"""Sentences of results read back: what they claim, by the words that they use and nothing else."""

import re
from dataclasses import dataclass

_CLASS = r"“([^”]*)”"


@dataclass(frozen=True, slots=True)
class SpokenClaims:
    """The claims of one sentence; names of classes and features are as in the text.

    ``subject`` is the class that the sentence is about and ``rivals`` are the classes that it
    names beside it, empty for all others. ``becomes`` is the class after a change, ``above`` the
    pair of classes of which the first scores higher then. ``stays`` says that the class is kept
    with the features ``kept``. ``no_part`` says that a feature is in no minimal explanation,
    ``still`` that it has no other value, ``fewest`` that no change of fewer features does the
    same. ``rules`` is the number of rules, ``asked`` the features that an explanation was to have.
    ``limits`` has how far features may move, with True for a share of the range in per cent; zero
    for those that stay as they are. Features that it lacks may take any value.
    """

    subject: str | None
    rivals: tuple[str, ...]
    becomes: str | None
    above: tuple[str, str] | None
    stays: bool
    kept: tuple[str, ...]
    no_part: bool
    still: bool
    fewest: bool
    rules: int
    asked: str
    limits: dict[str, tuple[float, bool]]


def spoken(text: str, names: tuple[str, ...]) -> SpokenClaims:
    """Return the claims of ``text`` about features called ``names``."""
    subject = _first(rf"decision {_CLASS}", text)
    above = re.search(rf"{_CLASS} overtakes {_CLASS}", text)
    compared = re.search(
        rf"(?:overtaken by|against|raises|between {_CLASS} and) ((?:{_CLASS}(?:, | or | and )?)+)",
        text,
    )
    rivals = re.findall(_CLASS, compared[2]) if compared else [above[1]] if above else []
    claim = re.search(r"^The decision .*?(?: stays| is not overtaken by).*?(?=\. |\.$)", text)
    kept = claim[0].partition("as long as ")[2] if claim else ""
    return SpokenClaims(
        subject,
        tuple(rivals),
        _first(rf"becomes {_CLASS}", text),
        None if above is None else (above[1], above[2]),
        claim is not None,
        tuple(name for name in names if re.search(rf"(?:^|, | and ){re.escape(name)} is ", kept)),
        " no part: no minimal explanation contains it" in text,
        " stays as it is: no input in question changes it" in text,
        "No change of fewer features " in text,
        _rules(text),
        _first(r"Only explanations (.*) were sought", text) or "",
        _limits(text, names),
    )


def _limits(text: str, names: tuple[str, ...]) -> dict[str, tuple[float, bool]]:
    found: dict[str, tuple[float, bool]] = {}
    shared = re.search(r"with ([^,]*(?:, [^,]*)*?) within ±([\d.e-]+) % of their ranges", text)
    stays = re.search(r"while ([^.;]*?) stays? as (?:it is|they are)", text)
    for name in names:
        own = rf"(?:^|, | and |with ){re.escape(name)}"
        if near := re.search(rf"{own} within ±([\d.e-]+)(?: \S+)? of", text):
            found[name] = float(near[1]), False
        elif shared and re.search(rf"{own}(?:,| and |$)", f"with {shared[1]}"):
            found[name] = float(shared[2]), True
        elif stays and re.search(rf"{own}(?:,| and |$)", f"with {stays[1]}"):
            found[name] = 0.0, False
    return found


@dataclass(frozen=True, slots=True)
class SpokenImportance:
    """The claims on importance: the ends of features by name, in words, and of all others.

    ``most`` is what each further feature has at most, ``zeros`` the number of features with none.
    ``wrong`` is the number of pairs that given scores order wrongly, ``pair`` the one named.
    """

    ends: dict[str, tuple[float, float]]
    most: float
    zeros: int
    exact: bool
    wrong: int | None
    pair: tuple[str, str] | None


def spoken_importance(text: str, names: tuple[str, ...]) -> SpokenImportance:
    """Return what ``text`` says of the importance of features called ``names``."""
    ends = {}
    for name in names:
        found = re.search(rf"([\d.e-]+)(?: to ([\d.e-]+))? for {re.escape(name)}[,;. ]", text)
        if found:
            ends[name] = float(found[1]), float(found[2] or found[1])
    most = _first(r"at most ([\d.e-]+) for ", text)
    zeros = _first(r"0 for the other (\d+) features", text)
    one = "0 for the other feature" in text and zeros is None
    wrong = re.search(
        r"order (\d+) pairs? of features otherwise than proven of the .*?: (?:such as )?"
        r"([^:]*?) before (.*?)\.",
        text,
    )
    none = "order no pair of features otherwise than proven of the " in text
    return SpokenImportance(
        ends,
        float(most) if most else 0.0,
        int(zeros) if zeros else int(one),
        "These values are exact." in text,
        int(wrong[1]) if wrong else (0 if none else None),
        (wrong[2], wrong[3]) if wrong else None,
    )


def _rules(text: str) -> int:
    if several := _first(r"Only inputs that satisfy the (\d+) rules count\.", text):
        return int(several)
    if headline := _first(r"\([^()]*?(\d+) rules?\)", text):
        return int(headline)
    return len(re.findall(r"Only inputs (?:with .*|that satisfy the rule) count\.", text))


def _first(pattern: str, text: str) -> str | None:
    found = re.search(pattern, text)
    return None if found is None else found[1]
