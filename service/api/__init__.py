"""HTTP and nothing else: statuses, shapes, streams."""
