"""Model cards in Markdown, one file for each kind of run.

Not for what stands in them (`sentimodels.runs.card` and its like): here facts become sentences and tables.
What no run records (licence, language, where texts come from) is named as missing, not made up.
"""
