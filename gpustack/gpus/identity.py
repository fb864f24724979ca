"""A GPU and its owner as JSON has them: the same keys in every document of `-o json` and in the answers over HTTP."""

from typing import Annotated, Any

from pydantic import AliasPath, BaseModel, BeforeValidator, ConfigDict, Field

from gpustack.ask.redact.printable import clean_text

Name = Annotated[str, BeforeValidator(clean_text)]
NameOrNull = Annotated[str | None, BeforeValidator(lambda text: clean_text(text) if text else None)]


def take_gpu(name: str, default: Any = None) -> Any:
    """Declare a field that is an attribute of `gpu` in the object, or of the object itself. It is null where neither
    has it."""
    return Field(default, validation_alias=AliasPath("gpu", name))


class Identity(BaseModel):
    model_config = ConfigDict(
        from_attributes=True, validate_by_name=True, frozen=True, json_schema_serialization_defaults_required=True
    )


class GpuIdentity(Identity):
    """Describe a GPU, or an instance of one in MIG mode (`instance`, `profile`). What is unknown is null."""

    node: Name = take_gpu("node", ...)
    index: NameOrNull = take_gpu("index")
    uuid: NameOrNull = take_gpu("uuid")
    instance: NameOrNull = take_gpu("instance")
    profile: NameOrNull = take_gpu("profile")
    model: NameOrNull = take_gpu("model")
    bus: NameOrNull = take_gpu("bus")


class Owner(Identity):
    """Describe the pod to which the kubelet gave the GPU, whether the pod uses it or not."""

    namespace: Name
    pod: Name
    container: NameOrNull
