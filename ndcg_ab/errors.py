"""The errors whose message is all that a user needs to see."""


class InputError(Exception):
    """Usage, configuration or data that cannot be used: what, where, which value, which rule. Exit code 2."""


class SilentError(InputError):
    """A place that data come from did not answer; it may later. Exit code 2."""


class SqlError(RuntimeError):
    """A SQL file failed, or the database could not be opened; the message says which. Exit code 1."""


class TrackingError(Exception):
    """MLflow could not be reached or refused; the bundle can be published later. Exit code 75."""


class RefusedError(TrackingError):
    """MLflow answered, and does not take the bundle: trying again will not help. Exit code 75."""


class ParityError(Exception):
    """The SQL and the Python core disagree: the numbers must not be believed. Exit code 1."""
