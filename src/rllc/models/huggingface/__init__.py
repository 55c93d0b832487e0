"""Causal language models of the package transformers as a family of models."""
