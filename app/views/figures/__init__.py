TITLE, ICON, PLACE = "Figures", ":material/function:", 80
