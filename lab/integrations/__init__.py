"""What was made elsewhere becomes a run: vectors out of files or memory, and other people's training loops."""
