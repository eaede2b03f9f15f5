"""A mixed-integer program as data; LP and MPS files."""
