"""What may stand in for the Heaviside step, and what follows for the gradient?"""
