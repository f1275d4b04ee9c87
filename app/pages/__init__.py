"""One folder a page: page.py draws it, and what only that page needs lies beside. The folder is the registration.

A page's `__init__.py` gives `TITLE`, `ICON` (of Material Symbols) and `PLACE`, by which the pages are ordered.
"""
