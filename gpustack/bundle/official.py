"""`--from official`: bundles of the vendors' own artefacts. Its place; it comes in a later version."""

from gpustack.errors import BundleError


def refuse() -> BundleError:
    return BundleError(
        "bundle-source-later",
        "bundles of the vendors' own artefacts cannot be built yet",
        "`--from official` comes in a later version; `--from modules` compiles the same versions, for labs and tests",
        "gpustack bundle build --from modules",
    )
