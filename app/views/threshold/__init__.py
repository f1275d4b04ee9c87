TITLE, ICON, PLACE = "Threshold", ":material/vertical_align_center:", 37
