"""Layers and heads of the architectures: they know tensors, never texts, files or training.

Shapes: B batch, T tokens, D d_model, H heads, K d_head, N d_state, V vocabulary, C classes. G, a divisor
of H, is the number of key and value heads.
"""
