"""Progress of a run: lines on standard output, which terminals and notebooks both show."""

import json
import time

import numpy as np

from ._schema import columns_of, in_words

#: Seconds between two lines.
EVERY = 2.0


class Listener:
    """Records the events of a run, prints some of them, and passes all of them to the callbacks."""

    def __init__(self, verbose, callbacks):
        self.history = []
        #: The columns of a data frame, as the library describes them.
        self.columns = None
        self._verbose = verbose
        self._callbacks = _list(callbacks)
        self._start = self._last = time.monotonic()

    def __call__(self, text):
        """Receive an event as JSON; returning True stops the run."""
        event = json.loads(text)
        if event["event"] == "schema":
            return self._describe(event["columns"])
        self.history.append(event)
        if self._verbose:
            self._print(event)
        answers = [callback(event) for callback in self._callbacks]
        # Only a truth value stops: a callback may return anything else without meaning to.
        return any(isinstance(answer, (bool, np.bool_)) and bool(answer) for answer in answers)

    def _describe(self, columns):
        """The columns of a data frame are known before the run starts."""
        self.columns = columns
        if self._verbose:
            print(in_words(columns_of(columns)), flush=True)

    def _print(self, event):
        now = time.monotonic()
        kind = event["event"]
        if kind == "started":
            self._of = event["updates"]
        elif kind == "recovered":
            print(f"[RBM] update {event['update']}: {event['reason']}; went back to update {event['back_to']}", flush=True)
        elif kind == "finished":
            print(f"[RBM] {event['update']} updates in {now - self._start:.1f} s{_end(event)}", flush=True)
        elif kind == "progress" and now - self._last >= EVERY:
            self._last = now
            print(f"[RBM] update {event['update']} of {self._of}{_fit(event)}", flush=True)


def _list(callbacks):
    """Return the callbacks as a list."""
    if callbacks is None or callable(callbacks):
        return [] if callbacks is None else [callbacks]
    if not isinstance(callbacks, (list, tuple)) or not all(callable(c) for c in callbacks):
        raise ValueError(f"callbacks is {callbacks!r}, but must be a function or a list of functions")
    return list(callbacks)


def _end(event):
    """Why a run ended before its last update, and which model it kept, in words."""
    why = {
        "early_stop": "; stopped early, since the held-out rows no longer became more likely",
        "time": "; stopped because the time was over",
        "interrupted": "; interrupted",
    }.get(event["reason"], "")
    kept = f"; the model of update {event['kept']} is kept" if event["kept"] != event["update"] else ""
    return why + kept


def _fit(event):
    """The log likelihood in words, or the best measure available instead."""
    train, valid = event["train"], event.get("valid") or {}
    for name, words in [("log_likelihood", "log likelihood"), ("pseudo_log_likelihood", "log pseudo-likelihood")]:
        if train.get(name) is not None:
            error = train.get(f"{name}_std_err")
            text = f", {words} {train[name]:.3f}" + (f" ± {error:.3f}" if error else "")
            return text + (f" (held-out rows {valid[name]:.3f})" if valid.get(name) is not None else "") + " nats per row"
    return f", reconstruction error {train['reconstruction_error']:.4f}"
