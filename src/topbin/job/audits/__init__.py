"""What the audit and review verbs do: draw rows, keep answers, judge them, learn from them."""
