TITLE, ICON, PLACE = "Images", ":material/grid_view:", 30
