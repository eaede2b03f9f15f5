"""The question that is asked: network, input, ball, features, objective."""
