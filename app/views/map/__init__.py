TITLE, ICON, PLACE = "Map", ":material/bubble_chart:", 45
