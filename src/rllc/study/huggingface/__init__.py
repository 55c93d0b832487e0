"""Models of Hugging Face in the config: their shape, sections and checkpoints. Imports no torch."""
