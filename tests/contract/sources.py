"""The Python sources of the distributions: `cli/app.py` is of the product, `gpustack_lab/cli/gpu.py` of the lab."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
PRODUCT = ROOT / "gpustack"
LAB = ROOT / "lab" / "gpustack_lab"
LOGS = ROOT / "logs" / "gpustack_logs.py"


def list_sources() -> dict[str, Path]:
    """Return the files of the product and of the lab by name."""
    product = {str(path.relative_to(PRODUCT)): path for path in sorted(PRODUCT.rglob("*.py"))}
    return product | {str(path.relative_to(LAB.parent)): path for path in sorted(LAB.rglob("*.py"))}


def list_packages() -> list[Path]:
    """Return the packages and single modules of all three, without the files that are parts of a package."""
    children = [*PRODUCT.iterdir(), *LAB.iterdir()]
    return [*sorted(path for path in children if path.suffix == ".py" or any(path.glob("*.py"))), LOGS]
