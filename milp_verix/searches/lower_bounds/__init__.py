"""Contrastive sets, and the covers of them: lower bounds on every explanation."""
