"""The bricks of the architectures: they know tensors, never texts, files or training.

Shape letters: B batch, T tokens, D d_model, H heads, K d_head, N d_state, V vocabulary,
C classes. `mask` is (B, T), True at real tokens; texts are padded on the right only,
and no brick lets a padded place change the answer for a real one.
"""
