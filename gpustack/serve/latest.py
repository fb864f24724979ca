"""One reading of Prometheus for all requests of a few seconds."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future

from gpustack.serve.moment import Moment
from gpustack.serve.refusal import refuse_error, refuse_late

WAIT_LIMIT = 10.0  # seconds


class Latest:
    """What `ask` returned or raised stands for `every` seconds after it came. It is asked by one thread at a time, and
    nobody waits for it longer than WAIT_LIMIT: a Prometheus that hangs costs one connection."""

    def __init__(self, ask: Callable[[], Moment], every: float) -> None:
        self.ask, self.every = ask, every
        self.lock = threading.Lock()
        self.asked: Future[Moment] | None = None
        self.came = 0.0

    def __call__(self) -> Moment:
        """Raises Refusal where Prometheus has nothing, or does not answer."""
        with self.lock:
            asked = self.asked
            if asked is None or (asked.done() and time.monotonic() - self.came >= self.every):
                asked = self.asked = Future()
                threading.Thread(target=self._fill, args=(asked,), daemon=True).start()
        try:
            error = asked.exception(WAIT_LIMIT)
        except TimeoutError:
            raise refuse_late(WAIT_LIMIT) from None
        if error is not None:
            raise refuse_error(error)
        return asked.result()

    def _fill(self, future: Future[Moment]) -> None:
        try:
            moment = self.ask()
        except BaseException as error:  # noqa: BLE001 - whoever waits raises it
            self.came = time.monotonic()
            future.set_exception(error)
        else:
            self.came = time.monotonic()
            future.set_result(moment)
