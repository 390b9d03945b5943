"""What is stored and how it is found. Imports nothing else of this project."""
