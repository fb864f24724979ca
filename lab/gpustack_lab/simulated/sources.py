"""The folders of the sources that the bundle compiles and packs."""

from pathlib import Path

CHARTS = Path(__file__).parent / "charts"
CLUSTER = Path(__file__).parent / "cluster"
DRIVER = Path(__file__).parent / "driver"
