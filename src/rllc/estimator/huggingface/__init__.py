"""Faster losses of transformers models around w*, equal to the plain loss."""
