"""Plots with matplotlib, which is only needed here."""

import numpy as np


def _axes(ax, **size):
    """Return the axes to draw on."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as missing:
        raise ImportError("plots need matplotlib: pip install 'harmonium[plots]'") from missing
    return plt.subplots(**size)[1] if ax is None else ax


def plot_filters(rbm, shape=None, n=64, ax=None):
    """Plot the weights of the hidden units as images, strongest first.

    Parameters
    ----------
    rbm : RBM or BernoulliRBM
        The fitted model.
    shape : (int, int), default=None
        Height and width of an image. None: a square.
    n : int, default=64
        Maximum number of hidden units to show.
    ax : matplotlib Axes, default=None
        Axes to draw on. None: a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import numpy as np
    >>> from harmonium import RBM, plot_filters
    >>> plot_filters(RBM.from_arrays(np.eye(4), np.zeros(4), np.zeros(4))).get_title()
    '4 of 4 hidden units'
    """
    weights = rbm.weights_.T if hasattr(rbm, "weights_") else rbm.components_
    side = int(np.sqrt(weights.shape[1]))
    height, width = shape or (side, side)
    if height * width != weights.shape[1]:
        raise ValueError(f"shape: {height} x {width} does not match the {weights.shape[1]} columns of a row")
    order = np.argsort(-np.linalg.norm(weights, axis=1), kind="stable")[:n]
    across = int(np.ceil(np.sqrt(len(order))))
    down = -(-len(order) // across)
    page = np.full((down * (height + 1) - 1, across * (width + 1) - 1), np.nan)
    for k, unit in enumerate(order):
        top, left = k // across * (height + 1), k % across * (width + 1)
        page[top : top + height, left : left + width] = weights[unit].reshape(height, width)
    ax = _axes(ax)
    largest = np.nanmax(np.abs(page)) or 1.0
    ax.imshow(page, cmap="RdBu", vmin=-largest, vmax=largest, interpolation="nearest")
    ax.set_axis_off()
    ax.set_title(f"{len(order)} of {len(weights)} hidden units")
    return ax


def plot_learning(rbm, ax=None):
    """Plot the log likelihood during the last run, or the log pseudo-likelihood if it was not measured.

    Parameters
    ----------
    rbm : RBM
        A model that was fitted in this process, not loaded from a file.
    ax : matplotlib Axes, default=None
        Axes to draw on. None: a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import numpy as np
    >>> from harmonium import RBM, plot_learning
    >>> rbm = RBM(n_hidden=2, epochs=500, random_state=0).fit(np.eye(4))
    >>> plot_learning(rbm).get_ylabel()
    'log likelihood, nats per row'
    """
    events = [e for e in rbm.history_ if e["event"] == "progress"]
    if not events:
        raise ValueError("no measurements to plot: the model was loaded from a file, or its run was too short")
    exact = any(e["train"].get("log_likelihood") is not None for e in events)
    name = "log_likelihood" if exact else "pseudo_log_likelihood"
    ax = _axes(ax)
    for part, label in [("train", "training rows"), ("valid", "held-out rows")]:
        points = [(e["update"], e[part][name]) for e in events if e.get(part) and e[part].get(name) is not None]
        if points:
            ax.plot(*zip(*points, strict=True), label=label)
    baseline = next((e["baseline"] for e in rbm.history_ if e["event"] == "started"), None)
    if exact and baseline is not None:
        ax.axhline(baseline, color="grey", linestyle=":", label="independent columns")
    ax.set_xlabel("updates")
    ax.set_ylabel("log likelihood, nats per row" if exact else "log pseudo-likelihood, nats per row")
    ax.legend()
    return ax


def plot_density_2d(rbm, X=None, bounds=None, resolution=100, ax=None):
    """Plot the density of a model with two real-valued columns.

    Parameters
    ----------
    rbm : RBM
        A model fitted to two columns.
    X : array of shape (n_samples, 2), default=None
        Rows to draw over the density.
    bounds : (float, float, float, float), default=None
        Left, right, bottom and top of the plot. None: the range of X with a margin.
    resolution : int, default=100
        Grid points along each axis.
    ax : matplotlib Axes, default=None
        Axes to draw on. None: a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from harmonium import RBM, plot_density_2d
    >>> rbm = RBM.from_arrays([[1.0], [1.0]], [0, 0], [0], visible="gaussian")
    >>> plot_density_2d(rbm, bounds=(-3, 3, -3, 3), resolution=20).get_title()
    'density'
    """
    if rbm.n_features_in_ != 2:
        raise ValueError(f"the model has {rbm.n_features_in_} columns, but must have 2 to plot its density")
    kind = rbm.model_.units()[0][0]
    if kind != "gaussian":
        raise ValueError(f"the visible units are {kind!r}, but must be real-valued, 'gaussian', to plot their density")
    if bounds is None and X is None:
        raise ValueError("bounds: pass bounds, or rows X to choose them from")
    if bounds is None:
        low, high = np.min(X, axis=0), np.max(X, axis=0)
        margin = 0.1 * (high - low) + 1e-9
        bounds = (low[0] - margin[0], high[0] + margin[0], low[1] - margin[1], high[1] + margin[1])
    xs, ys = np.linspace(*bounds[:2], resolution), np.linspace(*bounds[2:], resolution)
    grid = np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2)
    density = np.exp(rbm.score_samples(grid)).reshape(resolution, resolution)
    ax = _axes(ax)
    ax.imshow(density, origin="lower", extent=bounds, aspect="equal", cmap="viridis")
    if X is not None:
        ax.plot(*np.asarray(X)[:1000].T, ".", color="white", markersize=1, alpha=0.6)
    ax.set_title("density")
    return ax
