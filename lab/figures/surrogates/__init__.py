"""What may replace the Heaviside step?"""
