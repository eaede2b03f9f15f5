"""Close a node by listing the sets that are left, and refuting them."""
