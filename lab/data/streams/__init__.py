"""Images in few large files, tar shards or Parquet: an index that is built once, read through any file system."""
