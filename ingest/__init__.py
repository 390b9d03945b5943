"""Documents in, a searchable corpus out. Never imports `service`."""
