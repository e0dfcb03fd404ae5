"""Training objectives: each file is one task behind the protocol of `training/trainer.py`.

To add one: write
`tasks/x.py`, a row of `TASKS` in `config/task.py`, and what suits an architecture in its row (`models/`).
"""
