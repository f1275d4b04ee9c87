TITLE, ICON, PLACE = "Runs", ":material/table_rows:", 25
