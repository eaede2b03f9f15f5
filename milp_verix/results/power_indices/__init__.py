"""Power indices of features, as far as known sets of features determine them."""
