TITLE, ICON, PLACE = "Browse", ":material/image_search:", 40
