"""Declare properties of configuration keys beside their types: path, date, secret, command-line option.

A model declares once, in the type of a key, that the key is a path, contains dates or may hold a secret. All code that
reads or describes a configuration looks these traits up, and has no list of keys of its own.

A key that may hold a secret takes a text, in which ``${NAME}`` is looked up when it is used, or a reference:
{env: NAME}, {file: PATH} or {prefect: BLOCK} (`ndcg_ab.config.secrets.lookup`).
"""

import dataclasses
import enum
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    create_model,
    model_validator,
)
from pydantic.fields import FieldInfo

from ndcg_ab.config.walking import KeyPath


class Trait(enum.Enum):
    """A property of a key, declared in the type of the key: ``Annotated[Path, Trait.PATH]``."""

    PATH = "a path, relative to the file that names it"
    INPUT = "a path as well, of what the evaluation reads; or an address"
    DATED = "texts in which {date} is the date of the evaluation"
    LATE = "texts and references that may hold a secret, and are looked up when they are used"
    METRICS = "names of metrics, each of which may be a mapping as well"
    OPERATIONAL = "a key that changes no result"


@dataclasses.dataclass(frozen=True)
class Option:
    """The command-line option and the Python argument that set a configuration key.

    It is declared in the type of the key: ``Annotated[float, Option("--alpha", …)]``.

    Attributes
    ----------
    name : str
        Name of the option, such as ``--alpha``.
    group : str
        Group of the commands that have the option (`flows/cli/options.py`).
    panel : str
        Panel of the help screen that lists the option.
    metavar : str or None
        Placeholder for the value in the help, such as ``N``.
    below : str
        Key within the declaring key that the option sets, such as ``.format``; empty if it sets the declaring key
        itself.
    argument : str
        Name of the Python argument; empty for the default, see `argument_name`.
    read : str
        Name of the function in `from_options` that parses the text of the option.
    help : str
        Text of the help; empty for the description of the key.
    near : tuple of str
        Further keys whose error messages name this option.
    also : str
        A second name of the option, or empty.
    key : str
        Dotted key that the option sets; ``[]`` stands for every entry of a list.
    """

    name: str
    group: str
    panel: str
    metavar: str | None = None
    below: str = ""
    argument: str = ""
    read: str = "as_given"
    help: str = ""
    near: tuple[str, ...] = ()
    also: str = ""
    key: str = ""

    @property
    def parameter(self) -> str:
        """The option's parameter in the functions of commands: ``more_judgments`` for ``--more-judgments``."""
        return self.name.removeprefix("--").replace("-", "_")

    @property
    def argument_name(self) -> str:
        """The name of the option's parameter in the functions of the Python API.

        It is `argument`, unless that is empty. Then it is `parameter` for a key within a section, such as
        ``statistics.alpha``. For any other key, or if the option negates the key, it is the last part of the key.
        """
        is_of_key = "." not in self.key or self.read == "negate"
        return self.argument or (self.key.rpartition(".")[2] if is_of_key else self.parameter)

    @property
    def keys(self) -> tuple[str, ...]:
        """The dotted keys whose error messages name this option.

        These are: the key that the option sets; that key with and without a final ``.file``; that key with ``scores[]``
        in place of ``systems[]``; and the keys in `near`.
        """
        source_key = self.key.removesuffix(".file")
        return (self.key, source_key, f"{source_key}.file", self.key.replace("systems[]", "scores[]"), *self.near)

    @property
    def key_path(self) -> KeyPath:
        """The parts of the dotted key, such as ("systems", "file"), without the `[]` of lists."""
        return tuple(self.key.replace("[]", "").split("."))


DATA, MEASURED, TESTED, OUTPUT = "Data", "Metrics", "Statistics", "Output"  # panels of the help screen

T = TypeVar("T")
Operational = Annotated[T, Trait.OPERATIONAL]


class Model(BaseModel):
    """The base class of configuration models: immutable, with no unknown keys and only finite numbers."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True)

    main_key: ClassVar[str | None] = None
    """The key that a text alone stands for, or None if all keys must be named."""

    short_form: ClassVar[Any] = None
    """The type of other short forms that `expand` accepts, or None if only a text is one."""

    @classmethod
    def expand(cls, value: Any) -> Any:
        """Return the mapping of keys for which a short form, such as a path alone, stands.

        Any other value is returned unchanged.
        """
        return {cls.main_key: value} if cls.main_key and isinstance(value, str | Path) else value

    @model_validator(mode="before")
    @classmethod
    def _expanded(cls, value: Any) -> Any:
        return cls.expand(value)

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: Any, handler: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        """Return the JSON Schema of the model.

        The schema also accepts the short form of the model, such as a text for a mapping.
        """
        schema = handler(core_schema)
        if not cls.main_key and cls.short_form is None:
            return schema
        short = TypeAdapter(cls.short_form or str).json_schema()
        return {"description": schema.pop("description", ""), "anyOf": [*short.get("anyOf", [short]), schema]}


def key(text: str, default: Any = ..., **rules: Any) -> Any:
    """Return the field of a key of the configuration.

    text: the description of the key. default: the default value; `list` or `dict` for an empty one; the key is required
    if there is none. rules: further arguments of pydantic's `Field`.
    """
    given = {"default_factory": default} if default in (list, dict) else {"default": default}
    return Field(description=text, **given, **rules)


def to_list(value: Any) -> Any:
    """Return a list unchanged, any other value in a list, and an empty list for None."""
    return value if isinstance(value, list) else [] if value is None else [value]


def obeys(fault_of: Callable[[str], str | None]) -> AfterValidator:
    """Return a validator that raises ValueError for a text that breaks a rule; values other than texts are accepted.

    fault_of: a function that returns the rule that a text breaks, or None for a valid text.
    """

    def check(value: Any) -> Any:
        if isinstance(value, str) and (fault := fault_of(value)):
            raise ValueError(fault)
        return value

    return AfterValidator(check)


SEVERAL = BeforeValidator(to_list)
"""A validator for lists whose only entry may be given without a list."""

M = TypeVar("M", bound=BaseModel)


def with_keys_of(kinds: Mapping[str, type[BaseModel]]) -> Callable[[type[M]], type[M]]:
    """Return a class decorator that adds the keys of all given kinds of source to a model.

    The added keys are optional.
    kinds: the key that determines a kind of source, such as ``file`` -> the model of that kind.
    """

    def add(model: type[M]) -> type[M]:
        fields: dict[str, Any] = {}
        for kind in kinds.values():
            for name, field in kind.model_fields.items():
                annotation: Any = field.annotation
                default: Any = field
                if field.is_required():
                    typed: Any = Annotated[annotation, *field.metadata] if field.metadata else annotation
                    annotation, default = typed | None, Field(None, description=field.description)
                fields.setdefault(name, (annotation, default))
        own = {name: definition for name, definition in fields.items() if name not in model.model_fields}
        made = create_model(model.__name__, __base__=model, __module__=model.__module__, __doc__=model.__doc__, **own)
        made.kinds = kinds  # type: ignore[attr-defined]
        return made

    return add


def inner_types(annotation: Any) -> Iterator[Any]:
    """Yield a type and, recursively, the types that it is composed of."""
    yield annotation
    for inner in get_args(annotation):
        yield from inner_types(inner)


def is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def models_in(annotation: Any) -> list[type[Model]]:
    """Return the models in a type, such as [System] for list[System]."""
    return [kind for kind in inner_types(annotation) if is_model(kind)]


def traits_of(field: FieldInfo) -> set[Trait]:
    """Return the traits that a key's type declares."""
    return {each for each in (*field.metadata, *inner_types(field.annotation)) if isinstance(each, Trait)}


def keys_with(model: type[BaseModel], trait: Trait) -> set[str]:
    """Return the keys of a model that have a trait."""
    return {name for name, field in model.model_fields.items() if trait in traits_of(field)}


def input_keys(model: type[BaseModel]) -> set[str]:
    """Return the keys of a model whose values say where to read an input, such as ``judgments``."""
    fields = model.model_fields.items()
    return {name for name, field in fields if any(keys_with(kind, Trait.INPUT) for kind in models_in(field.annotation))}


def options_of(model: type[BaseModel], above: str = "") -> Iterator[Option]:
    """Yield the command-line options of the keys of a model and of nested models.

    above: the model's dotted key with a final dot; empty for the whole configuration.
    """
    for name, field in model.model_fields.items():
        for option in field.metadata:
            if isinstance(option, Option):
                yield dataclasses.replace(option, key=f"{above}{name}{option.below}")
        for inner in models_in(field.annotation):
            yield from options_of(inner, f"{above}{name}.")


def walk_keys(model: BaseModel, key_path: KeyPath = ()) -> Iterator[tuple[KeyPath, set[Trait], Any]]:
    """Yield (key path, traits, value) for every key of a model and of nested models.

    key_path: the path of the model itself.
    """
    for name, field in type(model).model_fields.items():
        value = getattr(model, name)
        yield (*key_path, name), traits_of(field), value
        entries = enumerate(value) if isinstance(value, list) else [(None, value)]
        for index, entry in entries:
            if isinstance(entry, BaseModel):
                yield from walk_keys(entry, (*key_path, name) if index is None else (*key_path, name, index))


def change_keys(model: M, change: Callable[[set[Trait], Any], Any]) -> M:
    """Return a model with each value replaced by `change(traits of the key, value)`, also in nested models."""

    def changed(value: Any) -> Any:
        if isinstance(value, list):
            return [changed(each) for each in value]
        return change_keys(value, change) if isinstance(value, BaseModel) else value

    fields = type(model).model_fields.items()
    values = {name: change(traits_of(field), changed(getattr(model, name))) for name, field in fields}
    return model.model_copy(update={name: value for name, value in values.items() if value != getattr(model, name)})


ReferenceKind = Literal["env", "file", "prefect"]
REFERENCES: tuple[str, ...] = get_args(ReferenceKind)


def is_reference(content: Any) -> bool:
    """Return whether content is a reference {env: NAME}, {file: PATH} or {prefect: NAME}."""
    return isinstance(content, dict) and len(content) == 1 and next(iter(content)) in REFERENCES


def require_text_or_reference(content: Any) -> Any:
    """Check that a configured value is a text, a reference such as {env: NAME}, or None; return it unchanged.

    Raises ValueError for any other value.
    """
    if content is None or isinstance(content, str):
        return content
    if is_reference(content) and all(isinstance(name, str) and name for name in content.values()):
        return content
    raise ValueError("must be text, or where the text is: {env: NAME}, {file: PATH} or {prefect: BLOCK}")


SecretText = Annotated[str | dict[ReferenceKind, str], BeforeValidator(require_text_or_reference)]
"""A text that may be or contain a secret, or a reference to one."""
