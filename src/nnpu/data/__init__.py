"""What a PU sample is: samplers and folds, the paper's data sets, readers of files."""
