"""Parts of `topbin.evaluate.audit`: which rows to ask, exact limits, the top bin, planning."""
