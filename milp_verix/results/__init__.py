"""The results that users see, how they are built, and how they are checked again."""
