"""rbms (DsysDNA, on PyTorch): the update of its `train`, without logging and shuffling, and with neither centering nor
its normalised gradients, so that it does what the others do. Binary units only.
"""

from protocol import args, first_parameters, rows, serve

import torch
from rbms.bernoulli_bernoulli.classes import BBRBM
from rbms.training.pcd import fit_batch_pcd

torch.set_num_threads(args.threads)
torch.set_grad_enabled(False)
WEIGHTS = torch.ones(args.batch)


class Rbms:
    def __init__(self, seed):
        self.data = torch.from_numpy(rows(seed))
        torch.manual_seed(seed)
        self.rbm = BBRBM(*map(torch.from_numpy, first_parameters()))
        self.rbm.init_grad()
        self.rbm.normalize_grad = lambda: None  # else every step has the same length, which is another algorithm
        self.optimizer = torch.optim.SGD(self.rbm.parameters(), lr=args.lr, maximize=True)
        n = args.batch
        self.chains = self.rbm.init_chains(n, start_v=self.data[torch.randint(len(self.data), (n,)), torch.arange(n)])

    def parameters(self):
        return (p.numpy() for p in self.rbm.parameters())

    def epoch(self):
        for x in self.data:
            if args.method == "cd":
                self.chains = self.rbm.init_chains(args.batch, weights=WEIGHTS, start_v=x)
            self.optimizer.zero_grad(set_to_none=False)
            self.chains, _ = fit_batch_pcd(
                (x, WEIGHTS), self.chains, self.rbm, gibbs_steps=args.steps, beta=1.0, centered=False
            )
            self.optimizer.step()


serve(Rbms)
