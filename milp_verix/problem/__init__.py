"""The question about a prediction: network, input, ball, features, objective."""
