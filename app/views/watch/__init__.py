TITLE, ICON, PLACE = "Watch", ":material/monitoring:", 20
