TITLE, ICON, PLACE = "Train", ":material/model_training:", 10
