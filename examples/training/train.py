"""A training loop without a framework: its metrics stand beside those of its GPU, and its log lines have both.

Put yours in place of `load_batch` and `train_step`, and keep the rest.
"""

import argparse
import logging
import math
import signal
import sys
import time

from prometheus_client import Counter, Gauge, Histogram, disable_created_metrics, start_http_server

import gpustack_logs

disable_created_metrics()
BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
STEP = Histogram("training_step_seconds", "Time of a step, with the wait for its batch.", buckets=BUCKETS)
WAIT = Histogram("training_loader_wait_seconds", "Time of a step that it waits for its batch.", buckets=BUCKETS)
SAMPLES = Counter("training_samples", "Samples that were trained on.")  # exposed as training_samples_total
LOSS = Gauge("training_loss", "Loss of the last step.")
LOSS.set(math.nan)  # not known yet, which is not 0
BATCH = 32


def load_batch(step: int) -> list[int]:
    time.sleep(0.02)
    return list(range(step * BATCH, (step + 1) * BATCH))


def train_step(step: int, batch: list[int]) -> float:
    time.sleep(0.1)
    return 0.5 + 2 * math.exp(-step / 500) + 0.01 * math.sin(batch[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--address", default="0.0.0.0", help="where metrics are served")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--steps", type=int, default=3000)
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # the pod is stopped: here a checkpoint is written
    handler = logging.StreamHandler()
    handler.setFormatter(gpustack_logs.JsonFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    start_http_server(arguments.port, arguments.address)
    for step in range(arguments.steps):
        with STEP.time():
            with WAIT.time():
                batch = load_batch(step)
            loss = train_step(step, batch)
        SAMPLES.inc(len(batch))
        LOSS.set(loss)
        if step % 50 == 0:
            logging.info("step %d", step, extra={"step": step, "loss": loss})


if __name__ == "__main__":
    main()
