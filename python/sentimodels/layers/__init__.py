"""The bricks of the architectures: they know tensors, never texts, files or training.

Shape letters: B batch, T tokens, D d_model, H heads, K d_head, N d_state, V vocabulary,
C classes, S tokens with those that a cache holds, G heads of keys. `mask` is (B, T), True at
real tokens; without one all are real. Texts are padded on the right, or on the left where a
causal backbone is to go on with them from a cache; no brick lets a padded place change the
answer for a real one.
"""
