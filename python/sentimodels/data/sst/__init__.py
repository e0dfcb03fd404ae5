"""The Stanford Sentiment Treebank: its trees and its Kaggle form."""
