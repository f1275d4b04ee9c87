"""Start runs on this machine: detached processes and the queue."""
