"""Exports of two hosts start at their own zero (field log M50): session starts put them on one axis, common ends find what
the hosts' clocks are apart, and no rank is blamed for it."""
import os
import sqlite3
import unittest

from planted import Folder

JOB = ("--format", "nsys", "--mesh", "dp_shard=8", "--ranks-per-host", "4", "--steps", "3", "--clock-offset-us", "0",
       "--clock-drift-ppm", "0")
TIMED = ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET",
         "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS")
KEPT = ("lag_ns", "transfer_ns", "delay_ns", "last", "rank", "blame_ns", "wait_ns")


def found(folder):
    """Offset of each host in ns, and every number of lag and blame."""
    output = folder.analyze()
    tables = [output.table(name) for name in ("/collectives/instances", "/metrics/straggler_lag/by_rank")]
    return ({row["host"]: row["offset_ns"] for row in output.table("/metrics/clock/rows")},
            [[{key: value for key, value in row.items() if key in KEPT} for row in table] for table in tables])


class NsysHostsTest(unittest.TestCase):
    def test_M50_session_starts_and_clock_errors_are_no_stragglers(self):
        folder = Folder(*JOB)
        self.addCleanup(folder.remove)
        offsets, lags = found(folder)
        self.assertEqual(sorted(offsets), ["node0", "node1"])
        later_ns, error_ns = 3_000_000_000, 400_000
        with sqlite3.connect(os.path.join(folder.traces, "nsys_1.sqlite")) as base:
            for table in TIMED:
                base.execute(f'UPDATE {table} SET start = start - {later_ns}, "end" = "end" - {later_ns}')
            base.execute(f"UPDATE TARGET_INFO_SESSION_START_TIME SET utcEpochNs = utcEpochNs + {later_ns + error_ns}")
        base.close()
        offsets_apart, lags_apart = found(folder)
        self.assertEqual(offsets_apart["node1"] - offsets["node1"], -error_ns)
        self.assertEqual(lags_apart, lags)


if __name__ == "__main__":
    unittest.main(verbosity=2)
