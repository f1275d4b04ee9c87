"""Training with an encoder, data or a loss that the user gives as Python objects: `lab.train`."""
