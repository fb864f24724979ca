"""Readings of Prometheus that all requests of a few seconds share."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future

from gpustack.serve.moment import Moment
from gpustack.serve.refusal import refuse_error, refuse_late

WAIT_LIMIT = 10.0  # seconds


class LatestMoment:
    """Cache what `ask` returned or raised for `interval` seconds after it came. One thread at a time calls `ask`,
    and nobody waits for it longer than WAIT_LIMIT, so a Prometheus that hangs costs one connection."""

    def __init__(self, ask: Callable[[], Moment], interval: float) -> None:
        self.ask, self.interval = ask, interval
        self.lock = threading.Lock()
        self.future: Future[Moment] | None = None
        self.answer_time = 0.0

    def __call__(self) -> Moment:
        """Return the latest moment. Raise Refusal where Prometheus has nothing, or does not answer."""
        with self.lock:
            future = self.future
            if future is None or (future.done() and time.monotonic() - self.answer_time >= self.interval):
                future = self.future = Future()
                threading.Thread(target=self._fill, args=(future,), daemon=True).start()
        try:
            error = future.exception(WAIT_LIMIT)
        except TimeoutError:
            raise refuse_late(WAIT_LIMIT) from None
        if error is not None:
            raise refuse_error(error)
        return future.result()

    def _fill(self, future: Future[Moment]) -> None:
        try:
            moment = self.ask()
        except BaseException as error:  # noqa: BLE001 - whoever waits raises it
            self.answer_time = time.monotonic()
            future.set_exception(error)
        else:
            self.answer_time = time.monotonic()
            future.set_result(moment)
