"""What the papers report and how to run it again: tables, recipes, cost."""
