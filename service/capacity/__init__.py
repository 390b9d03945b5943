"""Tokens and the memory that they take."""
