"""Restricted Boltzmann machines, with exact results where they are affordable.

``harmonium.RBM`` is a scikit-learn transformer and density estimator with binary, spin, categorical or real-valued units.
``harmonium.sklearn.BernoulliRBM`` is a drop-in replacement for scikit-learn's class of that name. scikit-learn is optional,
except for ``harmonium.sklearn``.
"""

from ._draws import LogZ
from ._harmonium import __version__
from ._plots import plot_density_2d, plot_filters, plot_learning
from ._rbm import RBM
from ._schema import Column
from ._verdict import Report, Verdict

__all__ = ["RBM", "Column", "LogZ", "Report", "Verdict", "__version__", "plot_density_2d", "plot_filters", "plot_learning"]
