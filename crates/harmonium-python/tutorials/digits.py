"""Digits, from scratch to features: learn, look, measure, and use what was learned.

Needs scikit-learn and matplotlib. Writes digits.png.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from harmonium import RBM, plot_filters, plot_learning

# 1797 images of 8 × 8 pixels from 0 to 16. A Bernoulli unit is 0 or 1, so pixels become bits.
data, labels = load_digits(return_X_y=True)
train, test, train_labels, test_labels = train_test_split(
    (data > 7).astype(np.uint8), labels, test_size=0.25, random_state=0
)

# With 20 hidden units log Z is a sum over 2²⁰ states, so the likelihood is exact. What is not said has a default.
rbm = RBM(n_hidden=20, epochs=300, random_state=0)
rbm.fit(train)

# How good is it? Nats per image, against independent pixels.
p = train.mean(axis=0).clip(1e-3, 1 - 1e-3)
independent = (test * np.log(p) + (1 - test) * np.log(1 - p)).sum(axis=1).mean()
print(f"log likelihood of held-out images: {rbm.score(test):.2f} nats ({rbm.log_z().verdict})")
print(f"independent pixels:                {independent:.2f} nats")
assert rbm.score(test) > independent + 4

# What are its hidden units good for? The lower half of an image from the upper one …
half = test[:200].astype(float)
half[:, 32:] = np.nan
guessed = rbm.impute(half, random_state=0)[:, 32:]
error = np.mean((guessed - test[:200, 32:]) ** 2)
by_means = np.mean((train[:, 32:].mean(axis=0) - test[:200, 32:]) ** 2)
print(f"squared error of the lower half:   {error:.3f}, of the columns' means {by_means:.3f}")
assert error < 0.8 * by_means

# … and features for a classifier: twenty numbers in the place of 64 pixels.
classifier = LogisticRegression(max_iter=1000).fit(rbm.transform(train), train_labels)
accuracy = classifier.score(rbm.transform(test), test_labels)
print(f"accuracy with 20 features:         {accuracy:.3f}")
assert accuracy > 0.75

figure, axes = plt.subplots(1, 3, figsize=(12, 4))
plot_learning(rbm, ax=axes[0])
plot_filters(rbm, ax=axes[1])
samples = np.pad(rbm.sample(64, random_state=0).reshape(8, 8, 8, 8), [(0, 0), (0, 0), (1, 0), (1, 0)], constant_values=0.5)
axes[2].imshow(samples.transpose(0, 2, 1, 3).reshape(72, 72), cmap="gray")
axes[2].set_title("64 samples")
axes[2].set_axis_off()
figure.savefig("digits.png")
