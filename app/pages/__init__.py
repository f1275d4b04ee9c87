"""One folder a page: page.py, and what only that page needs."""
