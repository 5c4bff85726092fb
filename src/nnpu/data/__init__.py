"""What a PU sample is, and how rows reach a model."""
