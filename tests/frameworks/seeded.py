"""Seeds the random number generators, then runs a script that does not: python seeded.py SCRIPT ARGUMENT…"""

import os
import random
import runpy
import sys

import numpy
import torch

sys.argv = sys.argv[1:]
sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
random.seed(1)
numpy.random.seed(1)
torch.manual_seed(1)
runpy.run_path(sys.argv[0], run_name="__main__")
