"""The fields of certificates: each has one type, and is read before anything is believed.

A kind is a function that takes a part of JSON and returns its value, or refuses it. A part of
another type is refused by the name of its field; so are fields that are missing, and fields that no
table below has. Numbers of a claim become exact here, once: what is said is what was proven.
"""

from collections.abc import Callable
from typing import Any

from verix_checker.numbers import exact, place
from verix_checker.shapes import require

Kind = Callable[[Any], Any]
Fields = dict[str, Kind]
SIGNS = ("-", ".", "+")  # the lower end, the input and the upper end of a coordinate


def of_type(type_: type, name: str) -> Kind:
    """Return the kind of values of one type and no other: true is no integer."""

    def read(given: Any) -> Any:
        if type(given) is not type_:  # a text of all that is right would take long
            require(False, f"{str(given)[:60]} is no {name}")
        return given

    return read


TEXT, FLAG, WHOLE = of_type(str, "text"), of_type(bool, "true or false"), of_type(int, "integer")
OBJECT, LIST = of_type(dict, "object"), of_type(list, "list")


def count(given: Any) -> Any:
    """Read an integer from zero on."""
    require(WHOLE(given) >= 0, f"{given} is less than zero")
    return given


def different(given: Any) -> Any:
    """Read a list of integers from zero on, none of which comes twice."""
    found = list(map(count, LIST(given)))
    require(len({*found}) == len(found), "a number comes twice")
    return found


def coordinate(given: Any) -> Any:
    """Read a coordinate of a point: a sign, or a number."""
    return given if given in SIGNS else exact(given)


def signs(given: Any) -> Any:
    """Read a text with a sign for each coordinate."""
    require({*TEXT(given)} <= {*SIGNS}, f"a sign is none of {SIGNS}")
    return given


def maybe(kind: Kind) -> Kind:
    """Return a kind that may be null."""
    return lambda given: None if given is None else kind(given)


def listed(kind: Kind, alone: Kind = LIST) -> Kind:
    """Return the kind of lists of a kind; a part that is no list is read as ``alone``."""
    return lambda given: list(map(kind, given)) if type(given) is list else alone(given)


def two(kind: Kind) -> Kind:
    """Return the kind of lists of a lower and an upper end."""

    def read(given: Any) -> Any:
        require(len(LIST(given)) == 2, "no lower and upper end")
        return list(map(kind, given))

    return read


def named(name: str, kind: Kind, given: Any) -> Any:
    """Read a field; a refusal says its name."""
    try:
        return kind(given)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def numbered(kind: Kind, **others: Kind) -> Kind:
    """Return the kind of objects whose keys are numbers, or one of ``others``."""

    def read(given: Any) -> Any:
        for name in OBJECT(given).keys() - others.keys():
            place(name)
        return {name: named(name, others.get(name, kind), part) for name, part in given.items()}

    return read


def fields(needed: Fields, more: Fields | None = None) -> Kind:
    """Return the kind of objects with all ``needed`` fields, and some ``more``."""
    known = needed | (more or {})

    def read(given: Any) -> Any:
        odd, missing = OBJECT(given).keys() - known.keys(), needed.keys() - given.keys()
        require(not odd, f"no field is called {' or '.join(sorted(odd))[:60]!r}")
        require(not missing, f"{' and '.join(sorted(missing))} must be given")
        return {name: named(name, known[name], part) for name, part in given.items()}

    return read


def tree(splits: dict[str, Fields], sides: tuple[str, str], leaf: Fields) -> Kind:
    """Return the kind of trees; a node that has the name of no split is a leaf."""
    both, end = dict.fromkeys(sides, OBJECT), fields({}, leaf)
    kinds = {name: fields(split | both) for name, split in splits.items()}

    def read(given: Any) -> Any:
        left = [OBJECT(given)]
        while left:
            node = left.pop()
            kind = next((kinds[name] for name in kinds if name in node), end)
            kind(node)
            left += [node[side] for side in sides if kind is not end]
        return given

    return read


END, POINT = maybe(exact), numbered(coordinate)
BOUND = fields({"bound": exact}, {"costs": listed(exact), "must": different, "must_not": different})
ROW = fields({"factors": numbered(exact), "limit": exact}, {"strict": FLAG})
CLAIMED: Fields = {"sha256": TEXT, "input": listed(exact), "minimal": FLAG, "bits": count}
CLAIMED |= {"norm": TEXT, "epsilon": listed(END, exact), "domain": two(listed(END, END))}
CLAIMED |= {"features": listed(different), "irrelevant": different}
MORE: Fields = {"network": TEXT, "output": TEXT, "source": TEXT, "beside": OBJECT}
MORE |= {"whole": different, "blocks": listed(different), "rules": listed(listed(ROW))}
MORE |= {"class": count, "against": different, "delta": exact, "outputs": different, "odd": count}
MORE |= {"minimum": BOUND, "no_part": different}
MORE |= {"importance": fields({}, {"shapley": listed(two(exact))})}
CLAIM = fields(CLAIMED, MORE)

LEAF: Fields = {"slopes": numbered(exact), "multipliers": numbered(exact)}
SPLITS: dict[str, Fields] = {"neuron": {"neuron": count}, "input": {"input": count, "at": exact}}
CASES = listed(tree(SPLITS, ("below", "above"), LEAF))
WEIGHED = tree(SPLITS, ("below", "above"), LEAF | {"weights": numbered(count)})
DECIDED: dict[str, Fields] = {"feature": {"feature": count}}
COVERED = tree(DECIDED, ("out", "in"), {"weights": numbered(exact)})
NAMED = tree(DECIDED, ("out", "in"), {"change": count, "kept": count})
SETS: Fields = {"changes": listed(POINT)}
KEPT = SETS | {"kept": listed(fields({"features": different, "trees": CASES}))}
COVER = fields(SETS | {"tree": COVERED})
COPIES = fields({"step": exact, "scenarios": listed(listed(WHOLE)), "tree": WEIGHED})
PROVEN: Fields = {"claim": CLAIM, "trees": CASES}
PROVEN |= {"points": numbered(numbered(coordinate, start=count))}
BESIDE: Fields = {"starts": listed(signs), "notes": listed(TEXT)}
BESIDE |= {"minimum": lambda one: (COVER if "changes" in OBJECT(one) else COPIES)(one)}
BESIDE |= {"no_part": fields(KEPT | {"tree": NAMED}), "importance": fields(KEPT)}
PROOF = fields(PROVEN, BESIDE)

TREES: Fields = {"inputs": count, "base": listed(exact), "rounding": listed(exact)}
FILE = fields(TREES | {"ties": maybe(TEXT), "trees": listed(LIST)})
