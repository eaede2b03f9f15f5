"""The commands, one file for each; `cli/app.py` lists them."""
