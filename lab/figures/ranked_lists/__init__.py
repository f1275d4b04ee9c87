"""How is a ranked list scored?"""
