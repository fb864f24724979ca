"""A GPU and its owner as JSON has them: the same keys in every document of `-o json` and in the answers over HTTP."""

from typing import Annotated, Any

from pydantic import AliasPath, BaseModel, BeforeValidator, ConfigDict, Field

from gpustack.ask.redact.printable import clean_text

Name = Annotated[str, BeforeValidator(clean_text)]
NameOrNull = Annotated[str | None, BeforeValidator(lambda text: clean_text(text) if text else None)]


def declare_gpu_field(name: str, default: Any = None) -> Any:
    """Declare a field that is an attribute of `gpu` in the object, or of the object itself. It is null where neither
    has it."""
    return Field(default, validation_alias=AliasPath("gpu", name))


class Identity(BaseModel):
    model_config = ConfigDict(
        from_attributes=True, validate_by_name=True, frozen=True, json_schema_serialization_defaults_required=True
    )


class GpuIdentity(Identity):
    """Describe a GPU, or an instance of one in MIG mode (`instance`, `profile`). What is unknown is null."""

    node: Name = declare_gpu_field("node", ...)
    index: NameOrNull = declare_gpu_field("index")
    uuid: NameOrNull = declare_gpu_field("uuid")
    instance: NameOrNull = declare_gpu_field("instance")
    profile: NameOrNull = declare_gpu_field("profile")
    model: NameOrNull = declare_gpu_field("model")
    bus: NameOrNull = declare_gpu_field("bus")


class Owner(Identity):
    """Describe the pod to which the kubelet gave the GPU, whether the pod uses it or not."""

    namespace: Name
    pod: Name
    container: NameOrNull
