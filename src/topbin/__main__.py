"""`python -m topbin` is the `topbin` command."""

from topbin.cli import main

if __name__ == "__main__":
    main()
