"""Which layer failed a question."""
