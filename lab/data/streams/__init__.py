"""Images in few large files, tar shards or Parquet: an index that is built once, and reading through any file system."""
