"""What is asked: network, question, ball, features, objective."""
