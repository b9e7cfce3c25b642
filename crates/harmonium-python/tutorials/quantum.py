"""Measurements of a quantum state: a spin model learns the ground state of a transverse-field Ising chain.

The chain has 8 spins, so its ground state is computed here by diagonalisation, and the Kullback-Leibler divergence between the
state's probabilities and the model's is exact: no histogram, no estimate.
"""

import itertools

import numpy as np

from harmonium import RBM

N, FIELD, SHOTS = 8, 1.0, 5000
states = np.array(list(itertools.product([1, -1], repeat=N)))

# H = −Σ σᶻσᶻ − h Σ σˣ on a ring: diagonal in these states but for the field, which flips one spin.
energy = -(states * np.roll(states, 1, axis=1)).sum(axis=1)
hamiltonian = np.diag(energy.astype(float))
for site in range(N):
    flipped = np.arange(len(states)) ^ (1 << (N - 1 - site))
    hamiltonian[np.arange(len(states)), flipped] -= FIELD
values, vectors = np.linalg.eigh(hamiltonian)
probability = vectors[:, 0] ** 2
# The critical ring of N spins has the ground energy −2 Σ_{odd k} … = −2/sin(π/2N), which checks the matrix.
assert abs(values[0] + 2 / np.sin(np.pi / (2 * N))) < 1e-9

shots = states[np.random.default_rng(0).choice(len(states), size=SHOTS, p=probability)]

rbm = RBM(n_hidden=8, visible="spin", epochs=200, random_state=0).fit(shots)

log_p = rbm.score_samples(states)
assert abs(np.exp(log_p).sum() - 1) < 1e-9
divergence = (probability * (np.log(probability) - log_p)).sum()
# Independent spins know only the magnetisation, which is zero: they miss all of the correlations.
independent = (probability * (np.log(probability) + N * np.log(2))).sum()
print(f"KL(state, model) = {divergence:.4f} nats; KL(state, independent spins) = {independent:.4f} nats")
assert divergence < 0.1 * independent

correlation = probability @ (states[:, 0] * states[:, N // 2])
sampled = rbm.sample(20_000, random_state=1)
print(f"correlation across the ring: {correlation:.3f}, of samples {np.mean(sampled[:, 0] * sampled[:, N // 2]):.3f}")
