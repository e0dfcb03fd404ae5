"""Training objectives: each file is one task behind the protocol of `training/trainer.py`.

To add one, write `tasks/x.py`, its section and a row of `TASKS` (see `config/task.py`), and default settings
in the rows of the architectures that need them (`suits` in `models/__init__.py`).
"""
