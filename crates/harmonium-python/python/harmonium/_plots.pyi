from typing import Any

from numpy.typing import ArrayLike

from ._rbm import RBM
from .sklearn import BernoulliRBM

def plot_filters(
    rbm: RBM | BernoulliRBM, shape: tuple[int, int] | None = None, n: int = 64, ax: Any = None
) -> Any: ...
def plot_learning(rbm: RBM, ax: Any = None) -> Any: ...
def plot_density_2d(
    rbm: RBM,
    X: ArrayLike | None = None,
    bounds: tuple[float, float, float, float] | None = None,
    resolution: int = 100,
    ax: Any = None,
) -> Any: ...
