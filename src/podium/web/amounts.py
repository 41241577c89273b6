"""What is shown of resources: cores, bytes and accelerators, whatever their names are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from podium.core.model.resources import CPU, MEMORY, Dimensions
from podium.dialects.kubernetes.devices import GPU_MILLI

# Extended resources that are devices for computing; what vendors call them is the last part of the name.
_ACCELERATOR = re.compile(r".+/(gpu|npu|tpu|neuron|neuroncore|gaudi|mlu|dcu|xpu|vgpu|ascend\w*)$", re.IGNORECASE)

CPU_NAME, MEMORY_NAME, GPU_NAME = "cpu", "memory", "gpu"


class Columns:
    """The columns that are shown, each with what one unit of it counts."""

    def __init__(self, dimensions: Dimensions) -> None:
        self._dimensions = dimensions
        self._seen = 0
        self.accelerators: dict[int, float] = {}
        self.refresh()

    def refresh(self) -> None:
        """Resources may get names at any time, and never lose them."""
        for column in range(self._seen, self._dimensions.width):
            name = self._dimensions.names[column]
            if name == GPU_MILLI:
                self.accelerators[column] = 0.001
            elif _ACCELERATOR.match(name):
                self.accelerators[column] = 1.0
        self._seen = self._dimensions.width

    def gpus(self, amounts: Iterable[tuple[int, float]]) -> float:
        """How many accelerators some amounts by column are."""
        found = 0.0
        for column, amount in amounts:
            unit = self.accelerators.get(column)
            if unit is not None:
                found += amount * unit
        return round(found, 3)

    def shown(self, amounts: Mapping[int, float]) -> dict[str, float]:
        """Cores, bytes and accelerators of amounts by column."""
        found = {CPU_NAME: round(amounts.get(CPU, 0) / 1000, 3), MEMORY_NAME: amounts.get(MEMORY, 0)}
        found[GPU_NAME] = self.gpus(amounts.items())
        return found

    def by_name(self, amounts: Mapping[str, int]) -> dict[int, float]:
        """Amounts by name as amounts by column; names that no node and no pod has are left out."""
        found = ((self._dimensions.find(name), amount) for name, amount in amounts.items())
        return {column: amount for column, amount in found if column is not None}
