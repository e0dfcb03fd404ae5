"""The Stanford Sentiment Treebank: its trees, its Kaggle form, and the rule on what is held out."""
