"""A changed or quantised model held against its baseline: the same texts, the same questions, in pairs."""
