"""Records as parts of a page: tables, distributions, pictures, cards."""
