"""Parallel tempering in torch: all ladders in one batch with an inverse temperature per row, swaps by index.

The base is that of `torch_annealing.py`, and so is the trick with q = σ(−βx). x = Wᵀv + b after a sweep serves for the swaps
and for the hidden units of the next sweep: two products per sweep. A row that swaps takes its other q, which is there
already. β multiplies h rather than the product, which has more columns.
"""

from protocol import args, first_parameters, inverse_temperatures, log_mean_exp, save_numbers, serve

import numpy as np
import torch
from torch_draws import Draws


class Tempering:
    def __init__(self, seed):
        self.W, self.a, self.b = map(torch.from_numpy, first_parameters())
        n, (visible, hidden) = args.chains * args.temperatures, self.W.shape
        self.draw = Draws(seed, n, visible, hidden)
        self.row = torch.arange(n).view(args.chains, args.temperatures)  # the row at each rung of each ladder
        self.beta = torch.from_numpy(inverse_temperatures()).float().repeat(args.chains).view(n, 1)
        self.v = torch.empty(n, visible)
        self.x, self.own, self.other, self.h = (torch.empty(n, hidden) for _ in range(4))
        self.draw(self.a.sigmoid().expand(n, visible), self.v)
        torch.addmm(self.b, self.v, self.W, out=self.x)
        torch.mul(self.x, -self.beta, out=self.own).sigmoid_()
        self.step, self.made = 0, np.zeros((2, args.temperatures - 1))

    def sweep(self):
        self.draw(torch.sub(1, self.own, out=self.own), self.h)
        if args.wrong != "sweep":
            self.h.mul_(self.beta)
        p = torch.addmm(self.a, self.h, self.W.t(), out=self.v).sigmoid_()
        self.draw(p, p)
        torch.addmm(self.b, self.v, self.W, out=self.x)
        torch.mul(self.x, -self.beta, out=self.own).sigmoid_()

    def swap(self):
        """Every other pair of rungs, even and odd ones in turn."""
        rungs = slice(self.step % 2, args.temperatures - 1, 2)
        places = self.row[:, :-1][:, rungs], self.row[:, 1:][:, rungs]
        below, above = (rows.clone() for rows in places)
        other = self.beta.clone()
        other[below], other[above] = self.beta[above], self.beta[below]
        torch.mul(self.x, -other, out=self.other).sigmoid_()
        gain = torch.div(self.own, self.other, out=self.x).log_().sum(1)
        forward, backward = gain[below], -gain[above]
        self.works[self.step % 2].append((forward, backward))
        yes = torch.rand(forward.shape).log_() < (backward - forward if args.wrong == "swap" else forward - backward)
        for place, stay, go in zip(places, (below, above), (above, below)):
            place.copy_(torch.where(yes, go, stay))
        moved = torch.zeros_like(self.beta, dtype=torch.bool)
        moved[below] = moved[above] = yes.unsqueeze(-1)
        self.beta = torch.where(moved, other, self.beta)
        torch.where(moved, self.other, self.own, out=self.own)
        self.made[:, rungs] += np.array([[args.chains], [0]]) + [[0], [1]] * yes.sum(0).numpy()
        self.step += 1

    def epoch(self):
        self.works = [], []
        for _ in range(args.sweeps):
            self.sweep()
            self.swap()

    def found(self):
        """Both estimates of log Z_{k+1}/Z_k and the part of swaps made, for each rung but the last."""
        lines = np.empty((args.temperatures - 1, 3))
        for parity, works in enumerate(self.works):
            below, above = (torch.stack(w).double().numpy() for w in zip(*works))
            lines[parity::2, 0] = [log_mean_exp(below[..., k]) for k in range(below.shape[-1])]
            lines[parity::2, 1] = [-log_mean_exp(-above[..., k]) for k in range(above.shape[-1])]
        lines[:, 2] = self.made[1] / self.made[0]
        return lines


serve(Tempering, save_numbers)
