"""The project's site: `make docs`. Its pages are README, docs, notebooks, figures and docstrings; no text is copied.

    python -m scripts.website            # into build/site/html
    python -m scripts.website --figures  # only compute figures that the cache lacks
    python -m scripts.website --cached   # compute none: those that the cache lacks stay empty

Generator: Zensical. Of three tried on this project's documents and six packages of its reference it was the quickest
(CPU seconds: Zensical 4.6, Material for MkDocs 6.4, Sphinx with MyST 7.2; installed 155, 167 and 123 MB); Material ends
in May 2027 with Zensical as its successor, and Zensical reads docstrings without importing anything.
"""
