"""Where rows come from: finding files, telling formats, and scanning them in chunks."""
