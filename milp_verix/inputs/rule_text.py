"""Rules as texts, in a small part of Python that is read, never run.

age >= 18 + years          inputs["marital-status"] == "Widowed"         18 <= age <= 90
(sex == "female").implies(pregnant.isin([0, 1]))       not (a > 3 and b < 2)
"""

import ast
from collections.abc import Callable, Mapping
from functools import reduce
from itertools import pairwise
from operator import add, and_, eq, ge, gt, le, lt, mul, ne, or_, sub
from typing import Any, TypeAlias

from milp_verix.base.errors import InputError, own_names, said
from milp_verix.inputs.rules import Quantity, Rule

_Operators: TypeAlias = dict[type, Callable[[Any, Any], Any]]
_COMPARED: _Operators = {ast.LtE: le, ast.Lt: lt, ast.Eq: eq}
_COMPARED |= {ast.GtE: ge, ast.Gt: gt, ast.NotEq: ne}
_JOINED: _Operators = {ast.Add: add, ast.Sub: sub, ast.Mult: mul}
_JOINED |= {ast.BitAnd: and_, ast.And: and_, ast.BitOr: or_, ast.Or: or_}
_METHODS = ("implies", "isin")
_LONGEST = 10_000


def rule_in(text: str, features: Mapping[str, Quantity]) -> Rule:
    """Return the rule that ``text`` says of ``features``, by name; ``InputError`` if it is none."""
    try:
        if len(text) > _LONGEST:
            raise ValueError(f"it has more than {_LONGEST} characters")
        found = _value(_parsed(text.strip()), features)
    except SyntaxError as error:
        words = error.msg if said(error) == str(error) else said(error)
        raise InputError(
            f"the rule {text!r} is not understood: {words} at character {error.offset}; rules "
            "compare by <=, <, >=, >, == or !=, such as 'a <= 2 * b'"
        ) from error
    except (ValueError, TypeError, KeyError, RecursionError, InputError) as error:
        raise InputError(f"the rule {text!r} is not understood: {error}") from error
    if not isinstance(found, Rule):
        raise InputError(f"the rule {text!r} compares nothing: it needs <=, <, >=, >, == or !=")
    return found


def _parsed(text: str) -> ast.expr:
    """Return the expression with names as written: Python reads "ﬁx", with a ligature, as "fix"."""
    found = ast.parse(text, mode="eval").body
    if not text.isascii():
        for node in ast.walk(found):
            if isinstance(node, ast.Name):
                node.id = ast.get_source_segment(text, node) or node.id
    return found


def _value(node: ast.expr, features: Mapping[str, Quantity]) -> Any:
    """Return the number, word, quantity, rule or list that ``node`` stands for."""

    def value(inner: ast.expr) -> Any:
        return _value(inner, features)

    found: Any
    name = _name_in(node)
    if name is not None:
        return features[own_names([name], features)[name]]
    match node:
        case ast.Constant(value=int() | float() | str() as constant):
            found = constant
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            found = -value(operand)
        case ast.UnaryOp(op=ast.Not() | ast.Invert(), operand=operand):
            found = ~value(operand)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _JOINED:
            found = _JOINED[type(op)](value(left), value(right))
        case ast.BoolOp(op=op, values=parts):
            found = reduce(_JOINED[type(op)], map(value, parts))
        case ast.Compare(left=left, ops=ops, comparators=others):
            found = _chain([left, *others], ops, value)
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            found = [value(item) for item in items]
        case ast.Call(func=ast.Attribute(value=left, attr=name), args=[one]) if name in _METHODS:
            found = getattr(value(left), name)(value(one))
        case _:
            raise ValueError(f"{ast.unparse(node)!r} is no part of a rule")
    return found


def _name_in(node: ast.expr) -> str | None:
    """Return the name of the feature that ``node`` is, or None."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Subscript(value=ast.Name(id="inputs"), slice=ast.Constant(value=str() as name)):
            return name
    return None


def _chain(
    operands: list[ast.expr], signs: list[ast.cmpop], value: Callable[[ast.expr], Any]
) -> Any:
    """Return the conjunction of ``a ≤ b ≤ c``, pair by pair."""
    found = None
    for sign, (left, right) in zip(signs, pairwise(operands), strict=True):
        if type(sign) not in _COMPARED:
            raise ValueError("a rule compares by <=, <, >=, >, == or !=")
        one = _COMPARED[type(sign)](value(left), value(right))
        found = one if found is None else found & one
    return found
