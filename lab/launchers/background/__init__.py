"""Where runs are started: detached processes and the queue."""
