"""Figures of results: a module for each kind of result; ``parts`` has what figures share."""
