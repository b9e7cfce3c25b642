"""torch on the CPU as an expert writes it: f32, every buffer allocated once, in place, no autograd.

The rows of the data and of the chains stand in one buffer, S = [x; v], and so do their hidden means, P = [h̄; −h̄′]: the
gradient is one product, W += (lr/n)·SᵀP, and PCD needs one product for both means. Against the textbook form with five
products that gains 14 % in PCD at batch 10 and 0 to 4 % elsewhere. What was tried and gained nothing that counts: W
stored the other way round (its five products together within 1 %), sums by products with ones, mm + add instead of addmm,
torch.compile of the whole step (7 to 36 % slower with its own random numbers, 0 to 26 % with those of numpy; all on one or
two threads of an AVX2 machine), OMP_WAIT_POLICY=passive (26 % slower).

Variants are ways to draw bits, see `torch_draws.py`. Normals are torch's, which are faster than numpy's.
"""

from protocol import args, first_parameters, rows, serve

import torch
from torch_draws import Draws


class Torch:
    def __init__(self, seed):
        self.data = torch.from_numpy(rows(seed))
        self.W, self.a, self.b = map(torch.from_numpy, first_parameters())
        n, (visible, hidden) = args.batch, self.W.shape
        self.draw = Draws(seed, n, visible, hidden)
        self.S, self.P = torch.empty(2 * n, visible), torch.empty(2 * n, hidden)
        self.x, self.v = self.S[:n], self.S[n:]
        self.p0, self.p1 = self.P[:n], self.P[n:]
        self.h = torch.empty(n, hidden)
        self.up(self.data[torch.randint(len(self.data), (n,)), torch.arange(n)], self.p0)
        self.draw(self.p0, self.h)  # chains begin at rows of the data

    def parameters(self):
        return self.W.numpy(), self.a.numpy(), self.b.numpy()

    def up(self, v, out):
        torch.addmm(self.b, v, self.W, out=out).sigmoid_()

    def down(self):
        if args.visible == "gaussian":
            mean = torch.addmm(self.a, self.h, self.W.t(), out=self.draw.numbers[len(self.a)])
            self.v.normal_().add_(mean)
        else:
            p = torch.addmm(self.a, self.h, self.W.t(), out=self.v).sigmoid_()
            self.draw(p, p)

    def epoch(self):
        persistent, rate = args.method == "pcd", args.lr / args.batch
        if args.wrong == "rate":
            rate *= 1.1
        for x in self.data:
            self.x.copy_(x)
            if not persistent:
                self.up(self.x, self.p0)
                self.draw(self.p0, self.h)
            for step in range(args.steps):
                last = step + 1 == args.steps
                self.down()
                if persistent and last:
                    self.up(self.S, self.P)
                else:
                    self.up(self.v, self.p1)
                if persistent or not last:
                    self.draw(self.p1, self.h)
            self.p1.neg_()
            if args.wrong == "model":
                self.p1.zero_()
            self.W.addmm_(self.S.t(), self.P, alpha=rate)
            self.b.add_(self.P.sum(0), alpha=rate)
            self.a.add_(self.x.sum(0).sub_(self.v.sum(0)), alpha=rate)


serve(Torch)
