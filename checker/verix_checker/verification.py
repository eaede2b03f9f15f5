"""The whole check of a certificate, in order: network, claim in words, trees, points, bound."""

import hashlib
from collections.abc import Iterator
from typing import Any

from verix_checker import minimum, sets
from verix_checker.claim import Claim
from verix_checker.fields import PROOF
from verix_checker.guard import compare, points
from verix_checker.numbers import place
from verix_checker.shapes import require
from verix_checker.trees import TreeClaim
from verix_checker.words import words


def verify(model: bytes, proof: Any, beside: Any = None) -> Iterator[str]:
    """Yield a line for each thing verified; raise an error at the first that fails.

    ``beside`` holds the content of files with weights of the network.
    """
    other = isinstance(proof, dict) and proof and "claim" not in proof
    seen = "a result of milp-verix" if other and "kind" in proof else "another file"
    how = "milp-verix certify RESULT MODEL --output proof.json makes a certificate of it"
    require(not other, f"this is {seen}, not its proof: name the model first; {how}")
    proof = PROOF(proof)
    trees, shown, stated = proof["trees"], proof["points"], proof["claim"]
    same = hashlib.sha256(model).hexdigest() == stated["sha256"]
    require(same, "this is another network, or none: name the model first, then its proof")
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in (beside or {}).items()}
    require(hashes == stated.get("beside", {}), "weights beside the network are others")
    parts = {"minimum", "no_part", "importance"}
    require({*stated} & parts == {*proof} & parts, "a claim without its proof, or a proof of none")
    claim = (TreeClaim if model[:1] == b"{" else Claim)(model, stated, beside)
    if isinstance(claim, TreeClaim):
        message = f"the library: {claim.net.adds}"
    else:
        count = compare(claim.net, points(claim.net, claim.ball, claim.low, claim.high))
        message = f"the file computes what was read from it, at {count} inputs"
    stated = claim.stated  # what was proven is what is told
    yield from words(stated, claim.net, message)
    for count in claim.keeps(claim.irrelevant, trees):
        yield f"a margin holds; cases: {count}"
    places = range(1, 1 + claim.net.size)
    signs = [zip(places, text, strict=True) for text in proof.get("starts", ())]
    starts = [[claim.one, *(claim.ball.value(v, sign) for v, sign in pairs)] for pairs in signs]
    for feature, moved in shown.items():
        point = [*(starts[moved["start"]] if "start" in moved else claim.ball.x)]
        for v in (1 + place(name) for name in moved if name != "start"):
            point[v] = claim.ball.value(v, moved[str(v - 1)])
        inside = claim.ball.holds(point, claim.variables({*claim.irrelevant, place(feature)}))
        require(place(feature) in claim.kept and inside, f"point {feature} is outside")
        require(claim.changed(point), f"point {feature} has the same prediction")
        yield f"feature {feature}: needed"
    require({*map(int, shown)} == claim.kept or not stated["minimal"], "a feature has no point")
    if "minimum" in stated:
        by_changes = "changes" in proof["minimum"]
        check = sets.bounded if by_changes else minimum.bounded
        yield check(claim, stated["minimum"], proof["minimum"])
    if "no_part" in stated:
        yield sets.no_part(claim, stated["no_part"], proof["no_part"])
    if "importance" in stated:
        yield from sets.importance(claim, stated["importance"], proof["importance"])
    keep = "1 feature keeps" if len(claim.kept) == 1 else f"{len(claim.kept)} features keep"
    needed = "1 is" if len(shown) == 1 else f"{len(shown)} are"
    yield f"VERIFIED: {keep} the prediction, and {needed} needed"
