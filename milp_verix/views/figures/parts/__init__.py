"""The parts of figures: the sheet, its style, pictures, bars and rows."""
