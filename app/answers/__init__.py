"""The ranking of one query, its comparison with another ranking, and the choice of queries."""
