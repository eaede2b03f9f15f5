"""Names and values in messages: the closest name, a list of names, a value as Python writes it."""

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable
from difflib import get_close_matches
from typing import Any

from milp_verix.base.errors import InputError

_LONGEST, _MOST_TOLD, _FEW = 60, 20, 5


def closest(given: str, known: Collection[str]) -> str | None:
    """Return the name in ``known`` that ``given`` may stand for; None if no name is close.

    Three letters may stand for the only name that begins with them.
    """
    by_form = {name.strip().casefold(): name for name in known}
    form = given.strip().casefold()
    close = [form] if form in by_form else get_close_matches(form, by_form, n=1, cutoff=0.66)
    begun = [one for one in by_form if len(form) > 2 and one.startswith(form)]
    return by_form[(close or begun)[0]] if close or len(begun) == 1 else None


def listed(names: Collection[str], most: int = _MOST_TOLD) -> str:
    """Return names with commas between, ``most`` of them at most, then their count."""
    some = ", ".join(list(names)[:most])
    return some if len(names) <= most else f"{some}, … ({len(names)} in all)"


def different_names(expected: Collection[str], given: Collection[str]) -> str:
    """Return which ``expected`` names are missing among those ``given``, and which are extra.

    Such as ``"missing: age, debt; extra: id"``, five names of each at most; empty if none is.
    Names are the same, or refused, as by :func:`same_names`.
    """
    found = same_names(expected, given)
    used = {*found.values()}
    missing = [name for name in expected if name not in found]
    extra = [name for name in given if name not in used]
    sides = (("missing", missing), ("extra", extra))
    return "; ".join(f"{side}: {listed(names, _FEW)}" for side, names in sides if names)


def same_names(wanted: Collection[str], given: Collection[str]) -> dict[str, str]:
    """Return the one of ``given`` that each name ``wanted`` is; a name that is none is left out.

    LightGBM stores spaces as underscores, so names that differ by these alone are the same. If two
    such names are wanted, each is itself alone. Raises ``InputError`` where two may be meant.
    """
    forms = defaultdict[str, list[str]](list)
    for name in given:
        forms[_form(name)].append(name)
    counts, found = Counter(map(_form, wanted)), dict[str, str]()
    for name in wanted:
        close = forms.get(_form(name), [])
        if counts[_form(name)] > 1 or (" " in name and name in close):
            close = [one for one in close if one == name]
        if len(close) > 1:
            raise InputError(
                f"{' and '.join(map(repr, close))} differ by spaces and underscores alone, and "
                f"either may be {name!r}: leave one of them out, or rename it"
            )
        if close:
            found[name] = close[0]
    return found


def own_names(
    given: Iterable[Hashable], known: Collection[str], what: str = "feature"
) -> dict[Any, str]:
    """Return the one of ``known`` that each label ``given`` is, as by :func:`same_names`.

    A label that is no text stands for its text. Raises ``InputError`` that calls names ``what`` for
    a label that is none of them, and where two may be meant.
    """
    texts = {label: str(label) for label in given}
    if len(texts) == 1 and {*texts.values()} <= {*known}:
        return texts
    found = {text: name for name, text in same_names(known, dict.fromkeys(texts.values())).items()}
    for label, text in texts.items():
        if text not in found:
            raise InputError(
                f"there is no {what} {label!r}; there are {listed(known)}{meant(text, known)}"
            )
    return {label: found[text] for label, text in texts.items()}


def _form(name: str) -> str:
    return name.replace(" ", "_")


def shown(value: Any) -> str:
    """Return a value as Python writes it, shortened where it is long."""
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # a whole number of too many digits
        return "a number of thousands of digits"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def require_one_of(known: Collection[str], given: Any, what: str, others: str = "") -> None:
    """Raise ``InputError`` that tells all names, and ``others``, unless ``given`` is ``known``."""
    if not isinstance(given, str) or given not in known:
        told = f"unknown {what} {shown(given)}; choose one of {listed(known)}{others}"
        raise InputError(told + meant(str(given), known))


def meant(given: str, known: Collection[str]) -> str:
    """Return the words that suggest the name closest to ``given``, none if no name is close."""
    close = closest(given, known)
    return "" if close is None else f"; did you mean {close!r}?"
