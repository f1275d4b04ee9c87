TITLE, ICON, PLACE = "Home", ":material/home:", 0
