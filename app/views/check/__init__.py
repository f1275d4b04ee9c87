TITLE, ICON, PLACE = "Check", ":material/fact_check:", 35
