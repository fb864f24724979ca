"""`gpustack`, ended by kill -9 at one of its own steps, the same one every time:

    python -m tests.lab.cut STEP DELAY WHOM COUNT WORDS...

A step is a program started, a file opened for writing, renamed or removed, a lock asked for. STEP counts them from 1;
with 0 nothing is killed, and a word is the first program started that has it among its arguments. DELAY in milliseconds
after the step, so that a program it has just started is at work. WHOM is `alone`, or `group` for all that runs in its
process group. The number of steps goes to the file COUNT.
"""

import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

STEPS = ("subprocess.Popen", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "shutil.rmtree", "fcntl.flock")


def main(step: str, delay: float, target: str, count: Path, words: list[str]) -> None:
    texts: list[str] = []

    def kill() -> None:
        if target == "group":
            os.killpg(0, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if event not in STEPS and not (event == "open" and (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR)):
            return
        texts.append(event)
        if str(len(texts)) == step or (event == "subprocess.Popen" and step in arguments[1]):
            if delay:
                threading.Timer(delay, kill).start()
            else:
                kill()

    from gpustack.cli.app import main as gpustack

    sys.argv = ["gpustack", *words]
    sys.addaudithook(watch)
    try:
        gpustack()
    finally:
        steps = len(texts)
        count.write_text(str(steps))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) / 1000, sys.argv[3], Path(sys.argv[4]), sys.argv[5:])
