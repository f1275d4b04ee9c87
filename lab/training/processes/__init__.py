"""Batch statistics that several processes of one training share."""
