"""The content of the HDF5 file depends on the traces alone: not on the number of workers, the order in which files
were made, where the folder lies, or the clocks of the hosts where clock-free numbers are concerned."""
import os
import random
import shutil
import unittest

from planted import Folder, analyze, content_hash

JOBS = {
    "tiny": (),
    "experts_and_faults": ("--mesh", "dp_shard=4,ep=4", "--experts", "8", "--fault", "leading_kernels",
                           "--fault", "missing:rank=2", "--fault", "bad_bytes:rank=1,events=4"),
    "cut_and_shifted": ("--mesh", "dp_shard=4,tp=2", "--fault", "cut:rank=3,keep=0.6",
                        "--fault", "window:rank=1,from=5", "--fault", "cpu_only:rank=6"),
}


def copy_shuffled(source, target, seed):
    """The same files, made in another order and with other times."""
    files = []
    for folder, _, names in os.walk(source):
        files += [os.path.join(folder, name) for name in names]
    files.sort()
    random.Random(seed).shuffle(files)
    for i, path in enumerate(files):
        copy = os.path.join(target, os.path.relpath(path, source))
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        shutil.copyfile(path, copy)
        os.utime(copy, (1_000_000 + i, 1_000_000 + i))


class SameAnswerTest(unittest.TestCase):

    def check(self, options):
        folder = Folder("--steps", "3", *options)
        self.addCleanup(folder.remove)
        hashes, summaries = {}, {}
        for workers in (1, 2, 3, 5):
            output = folder.analyze(workers)
            hashes[f"{workers} workers"] = content_hash(output.path)
            summaries[workers] = output.summary.rsplit("\n", 2)[0]  # the last line is the path of the file
        for seed in (1, 2):
            moved = os.path.join(folder.path, f"moved{seed}", "traces")
            copy_shuffled(folder.traces, moved, seed)
            path = os.path.join(folder.path, f"moved{seed}.h5")
            analyze(moved, path, workers=2 * seed)
            hashes[f"shuffled copy {seed}"] = content_hash(path)
        self.assertEqual(len(set(hashes.values())), 1, hashes)
        self.assertEqual(len(set(summaries.values())), 1, summaries)

    def test_host_clocks_change_no_clock_free_number(self):
        def rows(offset_us):
            folder = Folder("--steps", "3", "--clock-offset-us", offset_us, "--clock-drift-ppm", "0")
            self.addCleanup(folder.remove)
            output = folder.analyze()
            return [output.table(name) for name in ("/metrics/straggler_lag/rows", "/metrics/comm_comp_overlap/rows",
                                                    "/metrics/traffic_distribution/by_group")]

        self.assertEqual(rows("0"), rows("4000"))


def add_job(name, options):
    setattr(SameAnswerTest, f"test_{name}", lambda self: self.check(options))


for job_name, job in JOBS.items():
    add_job(job_name, job)

if __name__ == "__main__":
    unittest.main(verbosity=2)
