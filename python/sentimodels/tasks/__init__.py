"""Training objectives: each file is one task behind the protocol of `training/trainer.py`.

To add one, write `tasks/x.py`, and in `config/task.py` a row of `TASKS` and the section of its settings; also
default settings in the rows of the architectures that need them (`suits` in `models/__init__.py`).
"""
