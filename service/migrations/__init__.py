"""The history of the tables. A released migration is never edited."""
