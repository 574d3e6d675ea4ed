"""Two runs side by side: what may be compared, what differs, and by how much."""
