"""Competitors as processes that compute one at a time."""

import os
import subprocess
import tempfile
import time
from pathlib import Path

# Idle threads of OpenMP and OpenBLAS spin for some milliseconds before they sleep; then the next one may begin.
PAUSE = 0.1


class Competitor:
    """A process that speaks the protocol of `peers/protocol.py`."""

    def __init__(self, name, command, env):
        self.name = name
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True
        )
        self.expect("ready")

    def answer(self):
        line = self.process.stdout.readline().strip()
        if not line:
            self.process.wait()
            self.errors.seek(0)
            raise RuntimeError(f"{self.name} ended: {self.errors.read().strip()[-2000:]}")
        return line

    def expect(self, word):
        line = self.answer()
        if line != word:
            raise RuntimeError(f"{self.name} said '{line}' instead of '{word}'")

    def say(self, line):
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # `answer` tells why

    def go(self, epochs):
        """Seconds of each of some epochs."""
        time.sleep(PAUSE)
        seconds = []
        for _ in range(epochs):
            self.say("go")
            seconds.append(float(self.answer()))
        return seconds

    def turn(self, epochs):
        """Seconds of some epochs, after one that is not counted: threads have found their processors, caches are warm."""
        return sum(self.go(1 + epochs)[1:])

    def ticks(self):
        """Processor time it has used so far, in clock ticks."""
        return sum(map(int, Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.say("quit")
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.errors.close()


def busy_ticks():
    """Processor time that the whole machine has used so far, stolen time included, in clock ticks."""
    user, nice, system, _, _, irq, softirq, steal = map(int, Path("/proc/stat").read_text().split(maxsplit=9)[1:9])
    return user + nice + system + irq + softirq + steal


def race(competitors, epochs, rounds, tell):
    """Name → seconds of every round of some epochs, and the part of the machine that others used meanwhile.

    The first round warms up and is not counted; the order rotates.
    """
    times = {c.name: [] for c in competitors}
    for turn in range(rounds + 1):
        tell(turn)
        if turn == 1:
            begin, others = time.monotonic(), busy_ticks() - sum(c.ticks() for c in competitors)
        first = turn % len(competitors)
        for competitor in competitors[first:] + competitors[:first]:
            seconds = competitor.turn(epochs)
            if turn > 0:
                times[competitor.name].append(seconds)
    others = busy_ticks() - sum(c.ticks() for c in competitors) - others
    whole = (time.monotonic() - begin) * os.cpu_count() * os.sysconf("SC_CLK_TCK")
    return times, max(0.0, others / whole)
