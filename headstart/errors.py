"""Every error that Headstart raises for a mistake of its user. Each says what was wrong, what was expected, what to do."""


class HeadstartError(Exception):
    """Base of all errors meant for people. The command line prints the message and exits with 2."""


class InvalidParameterError(HeadstartError, ValueError):
    """A parameter is outside its range."""


class ModelNotFoundError(HeadstartError):
    """No model at the given path, hub id or file."""


class UnsupportedModelError(HeadstartError):
    """The model keeps state that cannot be rolled back, or is otherwise outside what Headstart can decode exactly."""


class HeadsError(HeadstartError):
    """A heads directory is missing, broken or does not fit the base model."""


class DraftModelError(HeadstartError):
    """A draft model does not fit the base model."""


class TreeError(HeadstartError, ValueError):
    """A candidate tree is malformed, or deeper or wider than the drafter allows."""


class PromptError(HeadstartError, ValueError):
    """A prompt is empty, or leaves no room in the model's context."""


class CapacityError(HeadstartError):
    """A request can never fit into the cache that the engine was given."""


class ChatTemplateError(HeadstartError):
    """The tokenizer has no chat template, or the template refuses the messages."""


class DataError(HeadstartError):
    """Training data are missing, malformed or too few."""


class TrainingError(HeadstartError):
    """A training run cannot start, go on or be resumed."""
