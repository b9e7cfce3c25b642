"""Functions shared by the parts of ``RBM``."""

import numpy as np


def like(X, result):
    """Convert a result to the precision of the rows."""
    return result.astype(np.float32) if X.dtype == np.float32 else result
