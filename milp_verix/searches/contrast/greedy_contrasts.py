"""Small contrasts at once, found by forward passes alone."""

from collections.abc import Iterator

from milp_verix.oracle.attacks import climb
from milp_verix.oracle.subset_oracle import SubsetOracle
from milp_verix.oracle.verdict import Verdict, replayed
from verix_encodings.arrays import FloatArray


def greedy_contrasts(subsets: SubsetOracle, rival: int, costs: FloatArray) -> Iterator[Verdict]:
    """Yield counterfactuals that raise margin ``rival`` by fewer and fewer features.

    A climb over the whole ball finds a point with a high margin. There the features are ranked by
    their share in the margin for their cost; bisection looks for the shortest beginning of that
    ranking with which a climb still changes the prediction. It ends at the deadline of ``subsets``.
    """
    problem, start = subsets.problem, subsets.centre
    region = problem.ball.region(problem.features.coordinates(sorted(subsets.everything)))
    top = climb(subsets.margins, region, start, rival, subsets.late)
    ranked = subsets.ranked(top, rival, costs)[::-1]
    low, high = 1, len(ranked)
    while low <= high and not subsets.late():
        middle = (low + high) // 2
        free = problem.features.coordinates(ranked[:middle])
        point = climb(subsets.margins, problem.ball.region(free), start, rival, subsets.late)
        found = replayed(problem, point, free)
        if found is None:
            low = middle + 1
        else:
            yield subsets.learn(found)
            high = middle - 1
