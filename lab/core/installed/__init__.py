"""What is installed here: versions, where tutorials and documents lie, child processes."""
