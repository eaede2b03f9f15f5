"""Results that are checked again."""
