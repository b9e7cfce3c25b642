"""rbms (DsysDNA, on PyTorch): the loop of its `train`, with its centred and normalised gradient and its own start, without
the logging to HDF5 after every update.
"""

from types import SimpleNamespace

from clock import Clock, args, rows

import torch
from rbms.bernoulli_bernoulli.classes import BBRBM
from rbms.training.pcd import fit_batch_pcd

torch.set_num_threads(args.threads)
torch.set_grad_enabled(False)
torch.manual_seed(1)

data, setting = torch.from_numpy(rows()), SimpleNamespace(**args.setting)
rbm = BBRBM.init_parameters(args.hidden, SimpleNamespace(data=data), torch.device("cpu"), torch.float32)
rbm.init_grad()
optimizer = torch.optim.SGD(rbm.parameters(), lr=setting.rate, maximize=True)
chains = rbm.init_chains(setting.chains)
clock = Clock(lambda: [p.numpy() for p in rbm.parameters()])
while clock.running():
    batch = data[torch.randperm(len(data))[: setting.batch]]
    optimizer.zero_grad(set_to_none=False)
    chains, _ = fit_batch_pcd((batch, torch.ones(len(batch))), chains, rbm, gibbs_steps=setting.steps, beta=1.0)
    optimizer.step()
