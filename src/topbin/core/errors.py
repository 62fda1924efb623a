"""Errors with a code: what happened, what was seen, what to do."""

CODES = {
    "TB001": "there are no rows where some are needed",
    "TB002": "the label values are not understood",
    "TB003": "positives or unlabeled rows are missing",
    "TB004": "a score or feature is NaN or infinite",
    "TB005": "an array has the wrong shape",
    "TB006": "an array does not hold plain numbers",
    "TB007": "the method is unknown, or does not take this kind of input",
    "TB008": "a parameter is out of range",
    "TB009": "the method needs scores that are probabilities",
    "TB010": "tails of different positives cannot be added",
    "TB011": "an optional package is not installed",
    "TB012": "row weights are not usable",
    "TB013": "the scorer cannot be used",
    "TB014": "a computation did not converge",
    "TB015": "training stopped because the loss is not finite",
    "TB016": "a Dataset could not give a row",
    "TB017": "a checkpoint cannot be used",
    "TB101": "a file or folder does not exist",
    "TB102": "a file cannot be read as a table",
    "TB103": "a column is not in the table",
    "TB104": "the output already exists",
    "TB105": "a file cannot be written",
    "TB106": "tables differ in columns or types",
    "TB107": "another run is writing to this folder",
    "TB108": "no usable feature is left, or a column cannot be one",
    "TB109": "rows to score do not fit the model's columns",
    "TB110": "a model folder is damaged or not one",
    "TB111": "a model needs a type that is not on the list of safe types",
    "TB112": "a folder was written in a format this version does not read",
    "TB113": "a query cannot be run",
    "TB114": "a run folder is damaged or not one",
    "TB115": "two columns have the same name",
    "TB116": "known positives are also in the unlabeled data",
    "TB117": "the rows are not those of the run",
    "TB118": "a row was answered twice, differently",
    "TB201": "a figure would be true by construction",
    "TB401": "a cluster cannot be reached",
    "TB402": "a cluster gave up on a part of the work",
    "TB403": "processes that train together have lost contact",
}


class TopbinError(Exception):
    """The base of all errors topbin raises; `code` names the page that explains it.

    >>> raise InputError("TB001", "scores_p is empty; pass at least one positive score.")
    Traceback (most recent call last):
    topbin.core.errors.InputError: TB001 scores_p is empty; pass at least one positive score.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code} {message}")
        self.code = code
        self.message = message

    def __reduce__(self) -> tuple[type["TopbinError"], tuple[str, str]]:
        # Errors cross process borders in parallel folds; the default would lose one argument.
        return type(self), (self.code, self.message)


class InputError(TopbinError, ValueError):
    """What the caller passed cannot be used."""


class MissingExtra(TopbinError, ImportError):
    """An optional package is needed and absent."""


class FileError(TopbinError, OSError):
    """A file could not be written, or another run holds the folder."""
