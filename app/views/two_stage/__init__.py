TITLE, ICON, PLACE = "Two-stage", ":material/sprint:", 55
