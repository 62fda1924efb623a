"""Tables in: files, queries and frames, read by one stack; features out.

The road, in reading order: `paths` (which files a name stands for), `schema` (types and kinds),
`batch` (rows in memory, and parts of a table), `formats` (how each kind of source is read), `table`
(every source as one `Table`), `columns` (a column as checks and features read it), `findings` (what
to know about a table), `features` with `text_features` and `vectors` (a table as a matrix), and
`write` (tables out). `images` are rows of pixels; `encoders` make vectors of texts and images.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
