"""The paper's experiments as a grid of cells that anyone can rerun, stop and resume."""
