"""The page of a study: its rows, summary and gallery, and the command that makes it again."""
