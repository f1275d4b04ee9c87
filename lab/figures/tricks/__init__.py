"""What do the tricks bring?"""
