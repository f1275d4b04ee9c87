"""What do the tricks of the trade bring?"""
