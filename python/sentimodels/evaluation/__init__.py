"""Evaluates predictions: scores, intervals, calibration, phrase memory, figures.

It reads `Predictions` and tables, and knows neither models nor run directories.
"""
