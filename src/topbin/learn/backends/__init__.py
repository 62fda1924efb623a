"""Models the loop can train: scikit-learn classifiers, and torch nets (extra `torch`)."""
