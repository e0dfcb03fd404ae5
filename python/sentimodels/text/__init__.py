"""From texts to ids: words, n-grams, the open vocabulary, and the encoder of a run.

The encoders take the place of a `sentitok` tokenizer, or use one.
"""
