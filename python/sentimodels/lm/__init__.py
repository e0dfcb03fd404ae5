"""Language models: what they are trained on, and what they write."""
