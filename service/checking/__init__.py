"""From a drafted statement to a verdict: its citations, its facts, and what its passages carry."""
