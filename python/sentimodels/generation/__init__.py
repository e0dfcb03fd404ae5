"""Text from language models: sampling, beam search, streams, and how likely texts are.

They know models and tokens, never files of a run.
"""
