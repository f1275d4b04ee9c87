"""Record the user's own training loop as a run, live on every page: see `recorder`."""
