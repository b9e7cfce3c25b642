"""Persistent contrastive divergence in torch, as an expert writes it to get a good likelihood soon: Adam, centred, weight
decay of 1/rows (a normal prior on W), visible biases fitted to the data. The rate begins at 0.08/√visible: 0.01 for the 64
columns of the digits, where 0.003 was slower, and 0.003 for the 784 of MNIST, where 0.01 was unstable.

With `average`, the result at any time is the mean of the parameters over about the last fifth of the updates, and the rate
falls as 1/√updates after 1000 of them: no length of the run has to be chosen. On the digits this was better at all times than
a cosine over the whole run (`cosine`), and as good at its end.

As in `torch_rbm.py`, rows and chains stand in one buffer, S = [x; v], and so do their hidden means, P = [h̄; −h̄′], so that
the gradient of W is one product. Centering with offsets μ, λ takes two rank-one terms off it:
SᵀP/n − μ(h̄ − h̄′)ᵀ − (x̄ − v̄)λᵀ. All parameters stand in one vector for the fused Adam. Bits are drawn by comparison with
uniforms of numpy's SFC64, which is faster than torch's generator.
"""

from math import cos, pi, sqrt

from clock import Clock, args, rows

import numpy as np
import torch

torch.set_num_threads(args.threads)
torch.set_grad_enabled(False)
torch.manual_seed(1)
RNG = np.random.Generator(np.random.SFC64(1))
EVERY = 10  # updates between additions to the mean


class Pcd:
    def __init__(self, data, steps, batch, schedule):
        self.data, self.steps, self.n, self.schedule = torch.from_numpy(data), steps, batch, schedule
        visible, hidden = data.shape[1], args.hidden
        self.rate = 0.08 / sqrt(visible)
        theta, grad = torch.zeros(2, visible * hidden + visible + hidden)
        self.W, self.a, self.b = split(theta, visible, hidden)  # biases of the energy with offsets
        self.gW, self.ga, self.gb = split(grad, visible, hidden)
        self.mu, self.lam = self.data.mean(0), torch.full((hidden,), 0.5)
        self.W.normal_(std=0.01)
        self.a.copy_(torch.logit(self.mu, eps=1 / len(data)))
        theta.grad = grad
        self.adam = torch.optim.Adam([theta], maximize=True, fused=True)
        self.mean = None
        self.S, self.P = torch.empty(2 * batch, visible), torch.empty(2 * batch, hidden)
        self.uniforms = {k: torch.empty(batch, k) for k in (visible, hidden)}
        self.h = torch.bernoulli(torch.full((batch, hidden), 0.5))

    def plain(self):
        """W and the biases of the energy without offsets."""
        return self.W, self.a - self.W @ self.lam, self.b - self.mu @ self.W

    def parameters(self):
        return [x.numpy() for x in self.mean or self.plain()]

    def train(self):
        clock, n, updates = Clock(self.parameters), self.n, 0
        while True:
            order = torch.randperm(len(self.data))
            for index in order[: len(order) // n * n].view(-1, n):
                updates += 1
                if self.schedule == "cosine":
                    factor = (1 + cos(pi * min(1, clock.seconds() / args.times[-1]))) / 2
                else:
                    factor = min(1, sqrt(1000 / updates))
                self.update(index, self.rate * factor)
                if self.schedule == "average" and updates % EVERY == 0:
                    self.add_to_mean(5 / (updates / EVERY + 5))
                if not clock.running():
                    return

    def add_to_mean(self, share):
        self.mean = self.mean or [x.clone() for x in self.plain()]
        for mean, x in zip(self.mean, self.plain()):
            mean.lerp_(x, share)

    def update(self, index, rate):
        (W, a, b), n = self.plain(), self.n
        x, v, p0, p1 = self.S[:n], self.S[n:], self.P[:n], self.P[n:]
        torch.index_select(self.data, 0, index, out=x)
        for step in range(self.steps):
            draw(torch.addmm(a, self.h, W.t(), out=v).sigmoid_(), v, self.uniforms)
            if step + 1 == self.steps:
                torch.addmm(b, self.S, W, out=self.P).sigmoid_()
            else:
                torch.addmm(b, v, W, out=p1).sigmoid_()
            draw(p1, self.h, self.uniforms)
        shift = p0.mean(0).sub_(self.lam).mul_(0.01)
        p1.neg_()
        torch.sum(self.P, 0, out=self.gb).div_(n)
        torch.sub(x.mean(0), v.mean(0), out=self.ga)
        torch.addmm(W, self.S.t(), self.P, beta=-1 / len(self.data), alpha=1 / n, out=self.gW)
        self.gW.addr_(self.mu, self.gb, alpha=-1).addr_(self.ga, self.lam, alpha=-1)
        self.adam.param_groups[0]["lr"] = rate
        self.adam.step()
        self.a.addmv_(self.W, shift)  # a moves with λ, so that the model stays the same
        self.lam.add_(shift)


def split(flat, visible, hidden):
    W, a, b = flat.split([visible * hidden, visible, hidden])
    return W.view(visible, hidden), a, b


def draw(p, out, uniforms):
    u = uniforms[p.shape[1]]
    RNG.random(out=u.numpy(), dtype=np.float32)
    torch.lt(u, p, out=out)


Pcd(rows(), **args.setting).train()
