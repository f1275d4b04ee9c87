"""Training with an encoder, data or a loss that a person brings as Python objects: `lab.train`."""
