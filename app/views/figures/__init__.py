TITLE, ICON, PLACE = "Figures", ":material/function:", 60
