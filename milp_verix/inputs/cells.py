"""One cell of a table as the value of a feature: a number, a word, a truth value, or their text.

A feature of words has up to three readings of a cell, and these must agree:

| reading | cell | means |
|---|---|---|
| word | ``"yes"``, ``1`` for a word ``"1"`` | that word |
| truth value | ``True``, ``"false"``, ``1``, ``"yes"`` | of two words such as no and yes, the one |
| code | ``3`` for a code 3, ``True`` for codes 0 and 1 | the word of that code |

A text that is a word means that word, whatever it could mean besides.
"""

import re
from math import isinf, isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.errors import InputError, listed, shown
from milp_verix.base.number_text import exact
from milp_verix.inputs.feature import MISSING, Feature, is_missing, word_of

_TRUTH = {"false": 0, "no": 0, "0": 0, "true": 1, "yes": 1, "1": 1}
_DATE = re.compile(r"\d{4}-\d\d?-\d\d?([T ].*)?|\d\d?[./]\d\d?[./]\d{2,4}", re.ASCII)
_SEPARATED = re.compile(r"[+-]?\d{1,3}([,.' \u00a0\u202f]\d{3})+([.,]\d+)?|[+-]?\d*,\d+", re.ASCII)


def code_in(feature: Feature, cell: Any) -> float:
    """Return the number that a cell is, or its word's code; ``InputError`` for no such value."""
    told = isinstance(cell, str) and cell.strip() in ("", MISSING)
    if feature.missing and (told or is_missing(cell)):
        _refuse_no_nan(feature, cell)
        return float(feature.codes[-1]) if feature.values else feature.top
    value = plain_cell(feature.name, cell)
    if not feature.values:
        truth = feature.kind == "fixed" or (feature.lower, feature.upper) == (0.0, 1.0)
        number = number_in_cell(feature.name, value, text=True, truth=truth)
        if feature.missing and number > feature.last:  # it is no code
            raise InputError(_outside(feature, f"{feature.name} is {shown(value)}"))
        return number
    if isinstance(value, str) and value in feature.values:
        return float(feature.code_of(value))
    readings = {*_by_word(feature, value), *_by_truth(feature, value), *_by_code(feature, value)}
    if len(readings) == 1:
        return float(readings.pop())
    if readings:
        words = " or ".join(repr(feature.values[feature.codes.index(c)]) for c in sorted(readings))
        raise InputError(
            f"{feature.name} is {shown(value)}, which may mean {words}: give the word itself"
        )
    if isinstance(value, str):
        raise InputError(feature.unknown(value))
    codes = "" if feature.one_hot else f", or of their codes {listed([*map(str, feature.codes)])}"
    words = listed(feature.values)
    raise InputError(f"{feature.name} is {shown(value)}, expected one of its values {words}{codes}")


def _refuse_no_nan(feature: Feature, cell: Any) -> None:
    """Raise ``InputError`` for a missing value but NaN, which is another one to scikit-learn.

    To its encoders None is a word that they do not know; imputers fill None in for no number.
    """
    if isinstance(cell, str):
        known = cell.strip() == MISSING
    else:  # pandas makes NaN of NA in a column of numbers
        known = cell is not None and (not feature.values or isinstance(cell, float | np.floating))
    if not known:
        raise InputError(
            f"{feature.name} is {shown(cell)}, which encoders and imputers of scikit-learn tell "
            "from NaN: give numpy.nan, as df.astype(object).where(df.notna(), numpy.nan) does, or "
            f"the word {MISSING!r}"
        )


def plain_cell(name: str, cell: Any) -> Any:
    """Return a cell as a plain object of Python; ``InputError`` for a missing value or several."""
    scalar = isinstance(cell, (np.generic, np.ndarray)) and cell.ndim == 0
    value = cell.item() if scalar and cell.dtype.kind not in "mM" else cell
    if is_missing(value) or (isinstance(value, str) and not value.strip()):
        text = f"{name} is {shown(value)}" if isinstance(value, str) else f"{name} is missing"
        raise InputError(
            f"{text}, expected a value ({shown(value)} was seen): {_remedy_for_missing(name)}"
        )
    if not isinstance(value, (str, bytes)) and hasattr(value, "__len__"):
        raise InputError(
            f"{name} is {shown(value)}, a {type(value).__name__}, expected one number or word: "
            "df.iloc[i] or df.to_dict('records')[i] is such a row"
        )
    return value


def number_in_cell(name: str, value: Any, *, text: bool, truth: bool) -> float:
    """Return the number that a plain cell is; of texts and truth values if ``text`` and ``truth``.

    Raises ``InputError`` for any other value, and for a number that float64 does not hold.
    """
    words = f"{name} is {shown(value)}, expected a number"
    if isinstance(value, str) and truth and value.strip().lower() in ("true", "false"):
        return float(value.strip().lower() == "true")
    if isinstance(value, bool) and not truth:
        raise InputError(f"{words}: True and False are for features with the ends 0 and 1")
    if hasattr(value, "isoformat") or isinstance(value, (np.datetime64, np.timedelta64)):
        raise InputError(f"{words}: turn dates into numbers first, such as days since a fixed date")
    if isinstance(value, str) and not text:
        raise InputError(
            f"{words}: words need a description of the inputs, by Inputs.from_frame(frame) or "
            "Inputs.from_pipeline(pipeline, frame)"
        )
    try:
        number = float(value)
    except OverflowError as error:
        raise InputError(f"{words} that float64 holds, at most 1.8e308: rescale it") from error
    except (TypeError, ValueError) as error:
        raise InputError(words + remedy_for(value)) from error
    if isnan(number):
        raise InputError(f"{name} is missing ({value!r} was seen): {_remedy_for_missing(name)}")
    if isinf(number):
        raise InputError(f"{words} that is finite: correct it, or leave the row out")
    if isinstance(value, int) and int(number) != value:
        raise InputError(
            f"{words} that float64 holds exactly, such as whole numbers up to {2**53}: subtract an "
            "offset, or leave the column out if it only counts rows"
        )
    return number


def _remedy_for_missing(name: str) -> str:
    return (
        "fill it in, or leave the row out; if the model takes missing values, describe the inputs "
        f"with missing=[{name!r}, …]"
    )


def remedy_for(value: Any) -> str:
    """Return the words that say how a text becomes a number, with a colon before; or none."""
    if not isinstance(value, str):
        return ""
    if _DATE.fullmatch(value.strip()):
        return ": turn dates into numbers first, such as days since a fixed date"
    if _SEPARATED.fullmatch(value.strip()):
        return (
            ": write it with a decimal point and without separators of thousands, such as 1234.5 "
            "(pandas.read_csv has the arguments decimal and thousands)"
        )
    return ""


def refuse_value(feature: Feature, x: NDArray[np.floating]) -> None:
    """Raise ``InputError`` unless ``x``, the feature's coordinates, is a value of it."""
    text = f"the input's {feature.name} is {x[0] if x.size == 1 else x.tolist()}"
    if not np.isfinite(x).all():
        raise InputError(f"{text}, expected finite numbers: {_remedy_for_missing(feature.name)}")
    if feature.one_hot:
        if not (np.all((x == 0) | (x == 1)) and x.sum() == 1):
            raise InputError(f"{text}: a one-hot block has one 1, and 0 elsewhere")
    elif feature.whole and x[0] != np.rint(x[0]):
        raise InputError(f"{text}, and must be whole; call the feature continuous if it is not")
    elif feature.values and x[0] not in feature.codes:
        codes = ", ".join(
            f"{code} {word}" for code, word in zip(feature.codes, feature.values, strict=True)
        )
        raise InputError(f"{text}, which is none of its codes: {codes}")
    # NumPy would round the ends to the type of x
    elif not feature.lower <= float(x[0]) <= feature.last and float(x[0]) != feature.top:
        raise InputError(_outside(feature, text))


def _outside(feature: Feature, text: str) -> str:
    return (
        f"{text}, outside of [{exact(feature.lower)}, {exact(feature.upper)}]: correct it, or "
        f"widen the range by Inputs.from_frame(…, ranges={{{feature.name!r}: (lower, upper)}})"
    )


def _by_word(feature: Feature, value: Any) -> list[int]:
    word = _word(value)
    return [feature.code_of(word)] if word in feature.values else []


def _by_truth(feature: Feature, value: Any) -> list[int]:
    words = feature.values[: len(feature.values) - feature.missing]
    meant = [_TRUTH.get(word.strip().casefold()) for word in words]
    seen = _TRUTH.get(_word(value).strip().casefold())
    if seen is None or sorted(meant, key=str) != [0, 1]:
        return []
    return [feature.codes[meant.index(seen)]]


def _by_code(feature: Feature, value: Any) -> list[int]:
    number = float(value) if isinstance(value, bool) else _number(value)
    if isinstance(value, bool) and {*feature.codes} != {0, 1}:
        return []
    return [int(number)] if number in feature.codes and not feature.one_hot else []


def _word(value: Any) -> str:
    number = _number(value)
    return word_of(value if number is None else number)


def _number(value: Any) -> float | None:
    """Return the number that a value is, or its text; None for a truth value or another text."""
    try:
        return None if isinstance(value, bool) or isnan(float(value)) else float(value)
    except (TypeError, ValueError, OverflowError):
        return None
