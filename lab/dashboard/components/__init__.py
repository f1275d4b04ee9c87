"""Pieces of page that Streamlit does not have."""
