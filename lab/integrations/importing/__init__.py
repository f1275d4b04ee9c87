"""Runs out of what was made elsewhere: vectors in memory or in files, with what is known of their rows."""
