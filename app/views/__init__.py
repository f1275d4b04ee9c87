"""One folder a page: page.py draws it, and what only that page needs lies beside. The folder is the registration.

Not named `pages`: such a folder Streamlit would take for its own, and every first address for one it does not know.

A page's `__init__.py` gives `TITLE`, `ICON` (of Material Symbols) and `PLACE`, by which the pages are ordered.
"""
