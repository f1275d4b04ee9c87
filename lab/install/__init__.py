"""What was installed, and how it starts itself: child processes, tutorials and documents, whose files lie here."""
