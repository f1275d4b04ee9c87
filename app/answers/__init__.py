"""One query's answer: ranked, compared, explained, and what it costs."""
