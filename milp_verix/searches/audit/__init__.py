"""The judgement on explanations that other tools gave."""
