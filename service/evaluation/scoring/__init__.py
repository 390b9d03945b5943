"""From attempts to figures, from two runs to a comparison, and from a comparison to the gate."""
