"""What the parts of ``RBM`` share."""

import numpy as np


def like(X, result):
    """A result in the precision of the rows."""
    return result.astype(np.float32) if X.dtype == np.float32 else result
