"""The command line: options, inputs, progress and delivery; ``commands/`` has the commands."""
