"""The ball that changes of bounded distance can move in holds missing values, too."""

import numpy as np
import pandas as pd
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from milp_verix import Inputs, Problem
from milp_verix.searches.change_measure import KnapsackBall, budgeted, distance, scales_of


def test_the_ball_of_a_distance_holds_a_missing_value() -> None:
    table = pd.DataFrame({"wage": [1.0, 2, 3, 4, np.nan], "debt": [4.0, 3, 2, 1, 0]})
    steps = make_pipeline(SimpleImputer(), LogisticRegression()).fit(table, [0, 0, 1, 1, 1])
    inputs = Inputs.from_pipeline(steps, table, missing=["wage"])
    problem = Problem(steps, {"wage": 1.5, "debt": 4}, inputs=inputs, epsilon="inf")
    measure = distance(problem, np.ones(2), scales_of(problem), 1e-3)
    code = problem.ball.domain_upper
    missing = np.array([code[0], 4.0])
    assert measure.cost(missing) == 1.0
    ball = budgeted(problem, measure, 1.0).ball
    assert isinstance(ball, KnapsackBall)
    assert ball.budget >= code[0] - 1.5
    assert measure.most.tolist() == [1.0, 1.0]
