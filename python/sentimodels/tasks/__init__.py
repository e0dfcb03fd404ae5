"""What models are trained for: each file is one task behind the protocol of `training/trainer.py`.

Not for the loop that trains them (`training/trainer.py`), nor for architectures. To add one: write
`tasks/x.py`, its section in `config/task.py`, and what suits an architecture in its row (`models/`).
"""
