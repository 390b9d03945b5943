"""Fixed sets in, honest figures out."""
