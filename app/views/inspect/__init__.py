TITLE, ICON, PLACE = "Inspect", ":material/troubleshoot:", 50
