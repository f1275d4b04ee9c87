"""What everything stands on, and what imports nothing else of lab."""
