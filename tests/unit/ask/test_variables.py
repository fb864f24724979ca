"""Variables of paths that API probes read."""

import re

from gpustack.ask.probe import Api
from gpustack.ask.variables import build_name_variables
from gpustack.config.spec import Spec
from gpustack.steps import PROBES


def test_variables_of_paths_are_those_of_the_spec() -> None:
    spec = Spec.model_validate(
        {
            "monitoring": {"namespace": "watch", "release": "kps"},
            "gpu": {"namespace": "gpus", "release": "op"},
            "autoscaling": {"namespace": "scale"},
        }
    )
    own_variables = {
        "MONITORING": "watch",
        "RELEASE": "kps",
        "GPU_NAMESPACE": "gpus",
        "GPU_RELEASE": "op",
        "KEDA": "scale",
    }
    assert build_name_variables(spec) == own_variables


def test_every_variable_of_a_path_is_known() -> None:
    names = {
        name
        for probe in PROBES
        if isinstance(probe.question, Api)
        for name in re.findall(r"\$(\w+)", probe.question.path)
    }
    assert names
    assert names <= set(build_name_variables(Spec()))
