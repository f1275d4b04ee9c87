"""What became of your own runs?"""
