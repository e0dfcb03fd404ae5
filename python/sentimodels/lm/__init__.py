"""Language models: corpora as rows of ids, the modules, what they are trained for, and their runs.

Not for classifiers (`runs/`, `tasks/`), which may start from a language model's weights.
"""
