"""One HTML file that tells a run: what it says, its plots, its sections, and how it looks."""
