"""From texts to ids: words, n-grams, the open vocabulary, and the encoder of a run.

Not for vectors (`layers/`). What stands here takes the place of a `sentitok` tokenizer or uses one.
"""
