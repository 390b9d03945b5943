"""Heavy libraries, one a file, imported nowhere else."""
