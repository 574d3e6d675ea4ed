"""What the machinery costs, measured on purpose: calibration of the instrument, and benches."""
