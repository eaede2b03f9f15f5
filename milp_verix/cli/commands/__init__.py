"""The commands, one file for each; ``cli.app`` lists them."""
