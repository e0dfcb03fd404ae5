"""Runs as other programs read them: ONNX graphs, and folders of transformers."""
