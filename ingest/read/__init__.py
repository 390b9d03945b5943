"""One file a format: bytes to one canonical text with blocks."""
