"""rbms's own annealed importance sampling, `compute_partition_function_ais`; its base is the one that everyone has here."""

from protocol import args, first_parameters, save_numbers, serve

import torch
from rbms.bernoulli_bernoulli.classes import BBRBM
from rbms.partition_function import ais

torch.set_num_threads(args.threads)
torch.set_grad_enabled(False)
update = ais.update_weights_ais


class Annealing:
    def __init__(self, seed):
        torch.manual_seed(seed)
        self.rbm = BBRBM(*map(torch.from_numpy, first_parameters()))
        self.log_z = []
        ais.update_weights_ais = self.update

    def update(self, **arguments):
        """The function returns log Z only; the check needs the weights."""
        self.weights, chains = update(**arguments)
        return self.weights, chains

    def found(self):
        return torch.cat(self.log_z).numpy()

    def epoch(self):
        ais.compute_partition_function_ais(args.chains, args.temperatures, self.rbm)
        self.log_z.append(self.weights.double() + self.rbm.ref_log_z())


serve(Annealing, save_numbers)
