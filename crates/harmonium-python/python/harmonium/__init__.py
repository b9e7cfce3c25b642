"""Restricted Boltzmann machines, exact where they can be exact.

``harmonium.RBM`` is a scikit-learn transformer and density estimator of binary, spin, categorical and real-valued units;
``harmonium.sklearn.BernoulliRBM`` is a drop-in for scikit-learn's class of that name. scikit-learn itself is optional.
"""

from ._draws import LogZ
from ._harmonium import __version__
from ._plots import plot_density_2d, plot_filters, plot_learning
from ._rbm import RBM
from ._verdict import Report, Verdict

__all__ = ["RBM", "LogZ", "Report", "Verdict", "__version__", "plot_density_2d", "plot_filters", "plot_learning"]
