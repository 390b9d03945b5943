"""Asking all questions of a set, in an installation made for it, and keeping what came of it."""
