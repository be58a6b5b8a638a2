"""Many small random jobs: whatever is planted must be found, and all numbers must fit each other, whatever the mesh,
schedule and style."""
import random
import unittest

import compare
import identities
from planted import Folder

JOBS = 8


def random_options(seed):
    """Options of a small job on one host, so that everything is exact."""
    dice = random.Random(seed)
    pp, tp, dp, replicate, cp = (dice.choice(sizes) for sizes in ([1, 2, 4], [1, 2], [1, 2, 4], [1, 1, 2], [1, 1, 2]))
    if pp * tp * dp * replicate * cp == 1:
        dp = 2
    options = ["--mesh", f"pp={pp},dp_replicate={replicate},dp_shard={dp},cp={cp},tp={tp}", "--seed", str(seed)]
    options += ["--layers", str(2 * pp), "--microbatches", str(2 * pp), "--steps", str(dice.choice([2, 3]))]
    options += ["--schedule", dice.choice(["gpipe", "1f1b", "interleaved", "zb", "combined"] + ["dualpipev"] * (pp > 1))]
    options += ["--tensor-parallel", dice.choice(["sequence", "allreduce"])]
    options += ["--data-parallel", dice.choice(["fsdp", "fsdp-always", "distopt"])]
    options += ["--style", dice.choice(["standard", "standard", "seq"])]
    options += dice.choice([[], ["--recompute"]]) + dice.choice([[], ["--fine"]])
    return options + ["--no-faults", "--ranks-per-host", "64", "--plain", "--mb-per-rank", "0"]


class RandomTest(unittest.TestCase):

    def test_planted_jobs_are_recovered(self):
        for seed in range(1, JOBS + 1):
            options = random_options(seed)
            folder = Folder(*options)
            self.addCleanup(folder.remove)
            output = folder.analyze()
            found = {**compare.everything(folder.truth, output, 0), **identities.everything(output)}
            for name, lines in found.items():
                with self.subTest(name, job=" ".join(options)):
                    self.assertEqual(lines[:5], [], f"{len(lines)} disagreements")


if __name__ == "__main__":
    unittest.main(verbosity=2)
