"""Which rank ran on which host may be guessed or given wrong: clocks then mix, and that must be said, not counted."""
import decimal
import glob
import os
import re
import unittest

from planted import Folder

JOB = ("--preset", "tiny", "--plain", "--mb-per-rank", "0", "--clock-drift-ppm", "0")


def rewrite(folder, later_us, device=None):
    """Times of each rank later by later_us(rank), its kernels on device(rank)."""
    for path in glob.glob(os.path.join(folder.traces, "**", "rank*_trace.json"), recursive=True):
        rank = int(re.search(r"rank(\d+)_", path).group(1))
        with open(path, encoding="utf-8") as file:
            text = file.read()
        text = re.sub(r'"ts": ([\d.]+)', lambda at: f'"ts": {decimal.Decimal(at.group(1)) + later_us(rank)}', text)
        if device is not None:
            text = re.sub(r'"device": \d+', f'"device": {device(rank)}', text)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def said(output, code):
    return [row["detail"] for row in output.table("/warnings/rows") if row["code"] == code]


def lines(output):
    return " ".join(output.summary.split())


def transfers(output):
    return [row["transfer_ns"] for row in output.table("/collectives/instances")]


class PlacementTest(unittest.TestCase):

    def planted(self, *options):
        folder = Folder(*JOB, *options)
        self.addCleanup(folder.remove)
        return folder

    def test_a_card_does_not_put_ranks_of_one_device_on_one_host(self):
        folder = self.planted("--clock-offset-us", "0")
        straight = folder.analyze()
        rewrite(folder, lambda rank: 5000 * (rank % 2), lambda rank: rank // 2)
        output = folder.analyze()
        self.assertEqual(said(output, "card_disagrees"),
                         ["its 4 GPUs in a node would put ranks 0 and 1 on one host, but both used GPU 0: hosts are "
                          "unknown (give --host-map)"])
        self.assertNotIn("clock_and_duration_disagree", output.warnings())
        self.assertIn("hosts unknown", lines(output))
        self.assertEqual(re.findall(r"\(S = [\d.]+\)", lines(output)), re.findall(r"\(S = [\d.]+\)", lines(straight)))

    def test_two_hosts_given_as_one_are_named_and_errors_count_it(self):
        folder = self.planted()
        right = folder.analyze()
        path = os.path.join(folder.path, "hosts.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(f"{rank} box\n" for rank in range(8))
        output = folder.analyze(workers=3, options=("--host-map", path))
        apart_us = max(abs(row["offset_ns"]) for row in right.table("/metrics/clock/rows")) / 1000
        self.assertGreater(apart_us, 100)
        told = said(output, "host_clocks_differ")
        self.assertEqual(len(told), 1)
        self.assertRegex(told[0],
                         r"^ranks [0-3] and [4-7] on host box disagree by \d+ us: probably not one host, or wrong times \(correct --host-map\)$")
        self.assertAlmostEqual(float(re.search(r"by (\d+) us", told[0]).group(1)), apart_us, delta=2)
        self.assertIn("one host, nothing corrected; " + told[0], lines(output))
        self.assertAlmostEqual(output.attributes("/metrics/clock")["residual_ns"] / 1000, apart_us, delta=2)
        self.assertIn("rank 5 is the straggler", lines(output))  # by duration: no clock is in it
        self.assertEqual(transfers(output), transfers(right))  # nor in those of messages
        self.assertNotIn("host_clocks_differ", right.warnings())

    def test_what_clocks_are_wrong_by_a_step_is_not_told(self):
        folder = self.planted()
        right = folder.analyze()
        rewrite(folder, lambda rank: 209_000 if rank == 2 else 0)
        output = folder.analyze()
        self.assertRegex(said(output, "host_clocks_differ")[0], r"ranks 0 and 2 on the host of ranks 0-3 disagree by 2090\d\d us")
        why = r"the clocks of the ranks are known to 209 ms only, more than a tenth of a step \(1\d\.\d ms\)"
        for metric in ("what_if", "critical_path", "efficiency"):
            attributes = output.attributes("/metrics/" + metric)
            self.assertEqual(attributes["status"], "absent")
            self.assertRegex(attributes["reason"], why)
        for label in ("what if", "critical path"):
            self.assertRegex(lines(output), label + " unknown: " + why)
        self.assertNotIn("GPU work of a step", output.summary)
        self.assertEqual(transfers(output), transfers(right))
        self.assertIn("rank 5 is the straggler", lines(output))


if __name__ == "__main__":
    unittest.main(verbosity=2)
