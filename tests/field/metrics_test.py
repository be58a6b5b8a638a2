"""Wrong metrics of the field log (M..): the smallest input of each, through the whole program."""
import unittest

from traces import FieldTest, collective, kernel, launch, step, trace


def late_pair(count=5, late_us=10000, shift_us=0, seq=True):
    """Two ranks, count all-reduces; rank 1 comes late to each. All end together."""
    out = {}
    for rank in (0, 1):
        events = [step(1, shift_us * rank, 1000000)]
        for i in range(count):
            start = 1000 + i * 50000 + (late_us if rank else 0) + shift_us * rank
            end = 1000 + i * 50000 + late_us + 100 + shift_us * rank
            events += [launch(i + 1, start - 5), kernel("gemm", start - 500, 400, correlation=i + 1),
                       collective(start, end - start, i, correlation=i + 1)]
        out["rank%d.json" % rank] = trace(*events, rank=rank, world=2)
    return out


class MetricsTest(FieldTest):

    def test_M01_all_spellings_are_communication(self):
        names = ["ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", "ncclKernel_AllGather", "nccldevkernel_Broadcast", "ncclDevKernel_Generic"]
        run = self.analyze(trace(*[kernel(name, 10 * i, 5) for i, name in enumerate(names)]))
        self.assert_has(run.whole(), communication_count=4, compute_count=0)

    def test_M02_M18_the_late_rank_is_the_straggler(self):
        run = self.analyze(late_pair())
        self.assertRegex(run.summary, r"late +rank 1\b")
        sums = [run.whole(rank)["communication_sum_ns"] for rank in (0, 1)]
        self.assertGreater(sums[0], sums[1])

    def test_M03_synchronisation_is_no_compute(self):
        sync = '{"ph": "X", "cat": "cuda_sync", "name": "Context Sync", "pid": 0, "tid": 7, "ts": 0, "dur": 100, "args": {"device": 0, "stream": 7}}'
        run = self.analyze(trace(kernel("ncclDevKernel_AllReduce(x)", 0, 100), sync))
        self.assert_has(run.whole(), compute_count=0, overlap_ns=0, communication_ns=100000)

    def test_M04_exposed_share(self):
        run = self.analyze(trace(kernel("a", 0, 90), kernel("ncclDevKernel_AllReduce(x)", 90, 10)))
        self.assert_has(run.whole(), exposed_ns=10000, window_ns=100000)

    def test_M05_compute_only_is_not_applicable_not_nan(self):
        run = self.analyze(trace(kernel("a", 0, 10)))
        self.assertNotIn("nan", run.summary.lower())
        self.assertEqual(run.attributes("/metrics/coll_call_num")["status"], "not_applicable")

    def test_M06_external_ids_do_not_matter(self):
        files = {"rank%d.json" % r: trace(*[collective(100 * i, 50 - r, i, **{"External id": 7 + 90 * r + i}) for i in range(4)],
                                           rank=r, world=2) for r in (0, 1)}
        run = self.analyze(files)
        self.assertEqual([row["members_seen"] for row in run.table("/collectives/instances")], [2] * 4)

    def test_M08_a_rank_without_gpu_events_is_not_averaged(self):
        cpu = '{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 9, "tid": 9, "ts": 0, "dur": 5}'
        run = self.analyze({"rank0.json": trace(kernel("a", 0, 10), world=2), "rank1.json": trace(cpu, rank=1, world=2)})
        self.assertEqual(run.warnings()["no_gpu_events"], 1)
        self.assertIsNone(run.whole(1))

    def test_M10_without_arguments_bytes_are_unknown(self):
        run = self.analyze(trace(kernel("ncclDevKernel_AllReduce(x)", 0, 100)))
        self.assert_has(run.whole(), communication_ns=100000)
        self.assertEqual(run.attributes("/metrics/traffic_distribution")["status"], "absent")

    def test_M15_M16_payload_is_the_whole_array_and_n_is_the_group(self):
        files = {"rank%d.json" % r: trace(*[collective(2000 * i, 1000, i, op="_allgather_base", nelems=(1 << 20, 8 << 20), members=8)
                                            for i in range(3)], rank=r, world=16) for r in range(2)}
        rows = self.analyze(files).table("/collectives/instances")
        self.assertEqual({(row["payload_bytes"], row["wire_bytes"]) for row in rows}, {(32 << 20, (32 << 20) * 7 // 8)})

    def test_M17_every_rank_is_read(self):
        files = {"rank%02d.json" % r: trace(*[collective(1000 * i + (400 if r == 31 else 0), 100 if r == 31 else 500, i, members=32)
                                             for i in range(5)], rank=r, world=32) for r in range(32)}
        run = self.analyze(files)
        self.assertEqual({row["last_rank"] for row in run.table("/collectives/instances")}, {31})

    def test_M20_units_are_decimal(self):
        self.assertNotRegex(self.analyze(late_pair()).summary, r"\b[KMG]iB")

    def test_M21_zero_durations(self):
        run = self.analyze(trace(kernel("a", 5, 0), kernel("b", 5, 10)))
        self.assert_has(run.whole(), compute_count=2, compute_ns=10000)

    def test_M22_kernels_of_one_graph_launch_all_count(self):
        run = self.analyze(trace(launch(1, 0, name="cudaGraphLaunch"), *[kernel("k", 10 * i + 5, 5, correlation=1) for i in range(40)]))
        self.assert_has(run.whole(), compute_count=40)

    def test_M26_idle_is_of_unions(self):
        run = self.analyze(trace(kernel("a", 0, 100, stream=7), kernel("b", 70, 100, stream=8), kernel("c", 190, 10)))
        self.assert_has(run.whole(), idle_ns=20000)

    def test_M28_a_kernel_after_the_cpu_step_belongs_to_its_launch(self):
        run = self.analyze(trace(step(1, 0, 100), launch(1, 95), kernel("a", "108.5", 8, correlation=1)))
        self.assertEqual(run.table("/ranks")[0]["outside_events_count"], 0)

    def test_M31_M33_M30_shifted_clocks_blame_the_same_rank(self):
        for shift in (350, 5000, 11560000):
            run = self.analyze(late_pair(shift_us=shift))
            self.assertRegex(run.summary, r"late +rank 1\b", shift)
            lag = {row["lag_ns"] for row in run.table("/collectives/instances")}
            self.assertEqual(lag, {10000000}, shift)

    def test_M44_single_files_beside_distributed_ones(self):
        run = self.analyze({"rank0.json": trace(kernel("a", 0, 5), world=2), "plain.json": trace(kernel("b", 0, 5), rank=None)})
        self.assertEqual((run.ranks(), run.warnings()["no_rank"]), ([0], 1))

    def test_M45_M49_communication_by_other_names(self):
        run = self.analyze(trace(kernel("void vllm::cross_device_reduce_2stage<float, 8>(x)", 0, 5),
                                 kernel("deep_ep::intranode::dispatch<8>", 10, 5), kernel("nvshmemi_transfer_x", 20, 5)))
        self.assert_has(run.whole(), communication_count=3, compute_count=0)

    def test_M47_events_that_start_together(self):
        self.assert_has(self.analyze(trace(kernel("a", 5, 3), kernel("b", 5, 9), kernel("c", 5, 1))).whole(), compute_ns=9000)

    def test_M52_missing_members_are_not_blamed_on_those_seen(self):
        files = {name: text.replace('"Group size": 2', '"Group size": 8').replace('"world_size": 2', '"world_size": 8')
                 for name, text in late_pair().items()}
        summary = self.analyze(files).summary
        self.assertIn("of the 2 ranks seen", summary)

    def test_M29_inverted_ranges_change_no_gpu_time(self):
        ops = ['{"ph": "X", "cat": "cpu_op", "name": "%s", "pid": 9, "tid": 9, "ts": %s, "dur": %s}' % op
               for op in (("caller", 0, 5), ("callee", 1, 90))]
        run = self.analyze(trace(launch(1, 3, 60, "hipLaunchKernel"), kernel("a", 2, 10, correlation=1), *ops))
        self.assert_has(run.whole(), compute_count=1, compute_ns=10000)

    def test_M43_steps_are_the_marked_ones_not_the_capture(self):
        events = [kernel("warmup", 0, 400)]
        for n in (1, 2, 3):
            start = 1000 * n
            events += [step(n, start, 900), launch(n, start + 1), kernel("a", start + 10, 500, correlation=n)]
        run = self.analyze(trace(*events))
        rows = run.table("/metrics/iter_time/rows")
        self.assertEqual([(row["step"], row["step_ns"]) for row in rows], [(n, 900000) for n in (1, 2, 3)])

    def mfu(self, architecture, parallel, sequence=4096):
        """MFU (ratio) of four equal ranks with steps of 100 ms."""
        head = '"distributedInfo": {"rank": %d, "world_size": 4}, "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}],'
        events = []
        for n in (1, 2, 3):
            events += [step(n, 100000 * n, 100000), launch(n, 100000 * n + 1), kernel("a", 100000 * n + 10, 90000, correlation=n)]
        files = {"rank%d.json" % rank: trace(*events, head=head % rank) for rank in range(4)}
        files["card.yaml"] = ("version: 4\nworkload:\n  model: {phase: training, model_family: m, precision: bf16, model_arch: {%s}}\n"
                              "  data: {batch_size: 4, batch_size_scope: global, seq_len: %d}\n"
                              "Model-executor:\n  model_plan_parallelization: {%s}\n" % (architecture, sequence, parallel))
        return self.analyze(files).attributes("/metrics/mfu")

    def test_M37_M42_mfu_counts_active_parameters_and_all_gpus(self):
        dense = ("num_params: 8000000000, num_params_embedding: 500000000, num_layers: 32, num_heads: 32, head_dim: 128, "
                 "num_kv_heads: 8, hidden_size: 4096")
        values = [self.mfu(dense, plan)["mfu_ratio"] for plan in ("dp_shard: 4, tp: 1, pp: 1", "dp_shard: 1, tp: 4, pp: 1")]
        self.assertGreater(values[0], 0)
        self.assertEqual(values[0], values[1])
        sparse = self.mfu(dense + ", num_experts: 8, num_experts_per_tok: 2, num_active_params: 2000000000", "dp_shard: 4, tp: 1, pp: 1")
        self.assertLess(sparse["mfu_ratio"], values[0] / 2)

    LLAMA_7B = "num_params: 6738415616, num_params_embedding: 131072000, num_layers: 32, num_heads: 32, head_dim: 128"

    def test_M36_the_width_of_the_feed_forward_is_in_the_parameters(self):
        flops = [self.mfu(self.LLAMA_7B + more, "dp_shard: 4")["per_token_flops"]
                 for more in ("", ", intermediate_size: 11008, hidden_act: swiglu")]
        self.assertEqual(flops[0], 6 * (6738415616 - 131072000) + 12 * 32 * 32 * 128 * 4096)
        self.assertEqual(flops[0], flops[1])

    def test_M40_sliding_windows_and_grouped_queries(self):
        whole = self.mfu(self.LLAMA_7B, "dp_shard: 4")["per_token_flops"]
        self.assertEqual(self.mfu(self.LLAMA_7B + ", num_kv_heads: 8", "dp_shard: 4")["per_token_flops"], whole)
        window = self.mfu(self.LLAMA_7B + ", sliding_window: 1024", "dp_shard: 4")["per_token_flops"]
        self.assertEqual(whole - window, 12 * 32 * 32 * 128 * (4096 - 1024))

    def test_M41_the_30B_model_with_3B_active_needs_37_6_GFLOP_a_token(self):
        card = ("num_params: 30532122624, num_active_params: 3356000000, num_params_embedding: 311164928, num_layers: 48, "
                "num_heads: 32, head_dim: 128, num_kv_heads: 4, hidden_size: 2048, num_experts: 128, num_experts_per_tok: 8")
        self.assertAlmostEqual(self.mfu(card, "dp_shard: 4", 8192)["per_token_flops"] / 1e9, 37.6, delta=0.05)

    def test_M23_steps_without_kernels_and_one_malformed_event_are_named(self):
        events = [step(n, 1000 * n, 900) for n in range(32)]
        events += [launch(n, 1001 + n) for n in range(1, 21)]
        events += [kernel("a", 1010 + n, 0.5, correlation=n) for n in range(1, 21)]
        events += [launch(99, 2001), kernel("malformed", 2010, 1770000, correlation=99)]
        run = self.analyze(trace(*events))
        self.assertEqual({code: count for code, count in run.warnings().items() if code in ("steps_without_gpu_events", "one_event_dominates")},
                         {"steps_without_gpu_events": 30, "one_event_dominates": 1})
        self.assertIn("malformed: 1770000000 ns", str(run.table("/warnings/rows")))
        rows = {row["step"]: row["compute_ns"] for row in run.table("/metrics/comm_comp_overlap/rows")}
        self.assertEqual(rows, {1: 10000, 2: 1770000000})


if __name__ == "__main__":
    unittest.main(verbosity=2)
