"""Other libraries' calls on sentitok's tokenizers: a module a library, called as that library is.

Thin: each call becomes one of `sentitok.Tokenizer`, which has more and gives arrays. The libraries themselves
are not needed.
"""
