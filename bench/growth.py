"""How the cost of a row grows with batch, visible units, hidden units and threads: PCD-1, one of them changed at a time."""

import os
from dataclasses import replace
from statistics import median

from cases import OURS, Case

CENTRE = Case("bits13", 500, "pcd", 1, 128, 0, 1)
AXES = {
    "batch": (8, 32, 128, 512, 4096),
    "n_visible": (64, 256, 784, 2048, 4096),
    "n_hidden": (16, 64, 256, 500, 1024, 4096),
    "threads": tuple(range(1, (os.cpu_count() or 1) + 1)),
}
TITLES = {
    "batch": "rows in a batch",
    "n_visible": "visible units",
    "n_hidden": "hidden units",
    "threads": "threads",
}
COLOURS = {OURS: "#1f5fa8", "torch": "#c2571a"}


def along(axis):
    """The cases of one axis."""
    return [sized(replace(CENTRE, **{axis: value})) for value in AXES[axis]]


def sized(case):
    """With enough rows for some tenths of a second: at least two updates, and no more than fit into memory with ease."""
    rows = 4000 * 784 * 500 // (case.n_visible * case.n_hidden)
    updates = max(2, min(rows, 32768) // case.batch)
    return replace(case, rows=updates * case.batch)


def cases():
    """Every case once: the axes meet at the centre."""
    return list(dict.fromkeys(case for axis in AXES for case in along(axis)))


def draw(results, path, about):
    """One picture with a panel per axis, as SVG and PNG."""
    import matplotlib

    matplotlib.use("agg")
    matplotlib.rcParams.update({"svg.hashsalt": "harmonium", "font.size": 11, "axes.spines.top": False, "axes.spines.right": False})
    from matplotlib import pyplot

    by_name = {result["case"]: result for result in results}
    figure, panels = pyplot.subplots(2, 2, figsize=(10, 7.6), layout="constrained")
    for axis, panel in zip(AXES, panels.flat):
        found = [(getattr(c, axis), by_name[c.name]) for c in along(axis) if c.name in by_name]
        if found:
            draw_panel(panel, axis, found)
    figure.suptitle(f"Time per row of PCD-1, 784 × 500, batch 128, one thread; one of the four changed at a time\n{about}", fontsize=12)
    figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})
    figure.savefig(path.with_suffix(".png"), dpi=100)
    pyplot.close(figure)


def draw_panel(panel, axis, found):
    """Medians as lines, lowest to highest as bars, names at their ends."""
    values = [value for value, _ in found]
    for name, colour in COLOURS.items():
        times = [[1e6 / rate for rate in r["rates"][OURS if name == OURS else r["best_torch"]]["rounds"]] for _, r in found]
        middle = [median(t) for t in times]
        panel.plot(values, middle, "o-", color=colour, markersize=4)
        panel.vlines(values, [min(t) for t in times], [max(t) for t in times], color=colour, linewidth=1)
        panel.annotate(name, (values[-1], middle[-1]), (7, 0), textcoords="offset points", color=colour, va="center")
    panel.set_xscale("log", base=2)
    panel.set_yscale("log")
    panel.set_xticks(values, [str(value) for value in values])
    panel.minorticks_off()
    panel.set_xlim(values[0] * (values[0] / values[-1]) ** 0.03, values[-1] * (values[-1] / values[0]) ** 0.22)
    low, high = panel.get_ylim()
    ticks = [t * 10**k for k in range(-2, 6) for t in (1, 2, 5) if low <= t * 10**k <= high]
    panel.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    panel.grid(axis="y", color="#dddddd", linewidth=0.6)
    panel.set_axisbelow(True)
    panel.set_xlabel(TITLES[axis])
    panel.set_ylabel("µs per row")
