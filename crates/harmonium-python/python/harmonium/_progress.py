"""What a run says while it learns: lines on standard output, which terminals and notebooks show alike."""

import json
import time

EVERY = 2.0


class Listener:
    """Remembers the events of a run, prints some of them, and hands all of them on."""

    def __init__(self, verbose, callbacks):
        self.history = []
        self.updates = 0
        self._verbose = verbose
        self._callbacks = [callbacks] if callable(callbacks) else list(callbacks or [])
        self._begin = self._last = time.monotonic()

    def __call__(self, text):
        """Is told an event as JSON; true stops the run."""
        event = json.loads(text)
        self.history.append(event)
        self.updates = event.get("update", self.updates)
        if self._verbose:
            self._print(event)
        answers = [callback(event) for callback in self._callbacks]
        return any(answer is True for answer in answers)

    def _print(self, event):
        now = time.monotonic()
        kind = event["event"]
        if kind == "started":
            self._of = event["updates"]
        elif kind == "recovered":
            print(f"[RBM] update {event['update']}: {event['reason']}; went back to {event['back_to']}", flush=True)
        elif kind == "finished":
            print(f"[RBM] {event['update']} updates in {now - self._begin:.1f} s", flush=True)
        elif kind == "progress" and now - self._last >= EVERY:
            self._last = now
            print(f"[RBM] update {event['update']} of {self._of}{_fit(event)}", flush=True)


def _fit(event):
    """The likelihood, or the best that is known instead of it."""
    train, valid = event["train"], event.get("valid") or {}
    for name, words in [("log_likelihood", "log likelihood"), ("pseudo_log_likelihood", "log pseudo-likelihood")]:
        if train.get(name) is not None:
            error = train.get(f"{name}_std_err")
            text = f", {words} {train[name]:.3f}" + (f" ± {error:.3f}" if error else "")
            return text + (f" (held out {valid[name]:.3f})" if valid.get(name) is not None else "") + " nats per row"
    return f", reconstruction error {train['reconstruction_error']:.4f}"
