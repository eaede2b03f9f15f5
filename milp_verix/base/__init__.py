"""What all rooms stand on: errors, deadlines, tolerances, files, memory, numbers as texts."""
