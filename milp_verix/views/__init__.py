"""Results for the eye: words, figures and pages."""
