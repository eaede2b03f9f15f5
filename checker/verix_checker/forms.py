"""Sums of numbers times variables, called forms, and neurons made of them, in exact arithmetic.

Variable 0 is the constant 1; then come the inputs, then the neurons a = max(z, 0) of forms z.
Numbers are integers over one unit, and never rounded.
"""

from fractions import Fraction
from math import gcd
from typing import Any

from verix_checker.numbers import exact

Form = dict[int, int]  # variables with their factors


class UnitError(ValueError):
    """A number needs a unit that is finer by the factor ``times``."""

    def __init__(self, times: int) -> None:
        super().__init__(f"numbers need a finer unit, by {times}")
        self.times = times


class Forms:
    """Neurons by number: ``rows[v]`` is the form z of neuron v, over the unit ``one``."""

    size: int  # of the inputs
    ties: str | None = None  # where the model sends equal scores, if that is known

    def __init__(self, one: int) -> None:
        self.one, self.depth, self.rows = one, dict[int, int](), dict[int, Form]()
        self.layers = list[list[int]]()

    def layer(self) -> None:
        """List the neurons of each depth: they read inputs and neurons of lower depths."""
        depths = sorted({*self.depth.values()})
        self.layers = [[v for v in self.rows if self.depth[v] == depth] for depth in depths]

    def values(self, point: list[int], forms: list[Form]) -> list[Fraction]:
        """Return the exact values of forms at an input."""
        return self.evaluated(point, forms)[0]

    def evaluated(self, point: list[int], forms: list[Form]) -> tuple[list[Fraction], Fraction]:
        """Return the exact values of forms at an input, and the most that any sum adds up."""
        values, scale, most = dict(enumerate(point)), self.one, Fraction(0)
        sums = list[int]()
        for layer in [*self.layers, []]:
            rows = [self.rows[v] for v in layer] or forms  # which come last
            terms = [[k * values[w] for w, k in row.items()] for row in rows]
            sums, scale = [sum(row) for row in terms], scale * self.one
            most = max(most, Fraction(max([0, *(sum(map(abs, row)) for row in terms)]), scale))
            values = {v: k * self.one for v, k in values.items()}
            values |= {v: max(z, 0) for v, z in zip(layer, sums, strict=False)}
        return [Fraction(total, scale) for total in sums], most

    def number(self, given: Any) -> int:
        """Return a number, or a text such as "3/8", exactly."""
        above, below = (given if type(given) is float else exact(given)).as_integer_ratio()
        times, left = divmod(self.one, below)
        if left:
            raise UnitError(below // gcd(self.one, below))
        return int(above * times)

    def total(self, *pairs: Any) -> Form:
        """Return the sum of products of a number and a number or form, exactly."""
        one, result, products = self.one, dict[int, int](), dict[int, int]()
        for k, form in (pair if isinstance(pair[1], dict) else pair[::-1] for pair in pairs):
            terms = form.items() if isinstance(form, dict) else ((0, form),)
            if k == one:
                for v, factor in terms:
                    result[v] = result.get(v, 0) + factor
                continue
            for v, factor in terms:
                if factor == one:
                    result[v] = result.get(v, 0) + k
                else:
                    products[v] = products.get(v, 0) + factor * k
        if any(k % one for k in products.values()):
            raise UnitError(one // gcd(one, *products.values()))
        for v, k in products.items():
            result[v] = result.get(v, 0) + k // one
        return {v: k for v, k in result.items() if k}

    def neuron(self, z: Any) -> Form:
        """Return the form of a new neuron max(z, 0)."""
        v = 1 + self.size + len(self.rows)
        self.rows[v] = z if isinstance(z, dict) else {0: z}
        self.depth[v] = 1 + max((self.depth.get(w, 0) for w in self.rows[v]), default=0)
        return {v: self.one}

    def greatest(self, *parts: Any) -> Any:
        """Return the form of a maximum; numbers come first."""
        p, *others = sorted(parts, key=lambda part: isinstance(part, dict))
        for q in others:
            more = self.neuron(self.total((self.one, q), (-self.one, p)))
            p = self.total((self.one, p), (self.one, more))
        return p

    def mean(self, *parts: Any) -> Form:
        """Return the form of a mean."""
        return self.total(*((self.number(Fraction(1, len(parts))), part) for part in parts))
