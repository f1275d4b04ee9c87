"""What does the batch decide?"""
