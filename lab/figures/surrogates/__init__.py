"""What can replace the step?"""
