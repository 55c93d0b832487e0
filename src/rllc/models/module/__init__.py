"""Any torch module that maps tokens to logits as a family of models."""
