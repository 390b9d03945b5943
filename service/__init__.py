"""Questions in, checked answers out."""
