"""A clock in place of the module `time`."""


class Clock:
    """Time passes by sleeping alone."""

    seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds
