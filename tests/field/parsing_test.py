"""Faults of parsing from the field log (P..): the smallest input of each, through the whole program."""
import gzip
import os
import sqlite3
import unittest

from traces import FieldTest, kernel, launch, step, trace

A, B = kernel("a", 1, 2), kernel("b", 5, 2)


class ParsingTest(FieldTest):

    def assert_kept(self, text, names=("a", "b"), damaged=0):
        run = self.analyze(text)
        for name in names:
            self.assertIn(name, run.kernels())
        self.assertEqual(run.warnings().get("event_damaged", 0), damaged)
        return run

    def test_P01_bare_quotes_cost_one_event(self):
        run = self.assert_kept(trace(A, kernel('{"device": "cpu"}(12): run', 3, 1), B), damaged=1)
        row = [row for row in run.table("/warnings/rows") if row["code"] == "event_damaged"][0]
        self.assertGreater(row["offset_bytes"], 0)

    def test_P02_P04_raw_control_bytes_are_accepted(self):
        text = trace(A, kernel("NAME", 3, 1), B).encode().replace(b"NAME", b"x\x01y\xef\xbf")
        self.assertEqual(self.assert_kept(text).whole()["compute_count"], 3)

    def test_P03_random_bytes_leave_kernels_intact(self):
        frame = b'{"ph": "X", "cat": "python_function", "name": "\x00\x81\x07\xfe\xc3\x1b\xbf", "pid": 1, "tid": 1, "ts": 1, "dur": 1}'
        self.assertEqual(self.assert_kept(trace(A, "NAME", B).encode().replace(b"NAME", frame)).whole()["compute_count"], 2)

    def test_P05_latin1_names_are_accepted(self):
        run = self.assert_kept(trace(A, kernel("NAME", 3, 1), B).encode().replace(b"NAME", b"\xe9\xff"))
        self.assertEqual(run.whole()["compute_count"], 3)

    def test_P06_single_backslashes_are_read_leniently(self):
        run = self.assert_kept(trace(A, kernel("torch\\cuda\\__init__.py(219): f", 3, 1), B))
        self.assertEqual(run.whole()["compute_count"], 3)

    def test_P07_bare_numbers_that_are_none_are_dropped(self):
        for word in ("inf", "-inf", "nan", "NaN", "Infinity", "-Infinity"):
            copy = kernel("Memset (Device)", 3, 0).replace('"kernel"', '"gpu_memset"')
            copy = copy.replace('"args": {', '"args": {"bytes": 64, "memory bandwidth (GB/s)": %s, ' % word)
            run = self.assert_kept(trace(A, copy, B))
            self.assertEqual(run.whole()["memory_count"], 1, word)

    def test_P09_integers_beyond_64_bits(self):
        for number in ("18446744073709551615", "9" * 22):
            event = kernel("c", 3, 1).replace('"args": {', '"args": {"Comms Id": %s, ' % number)
            self.assert_kept(trace(A, event, B), names="abc")

    def test_P10_rank_from_the_name(self):
        run = self.analyze({"rank3_trace.json": trace(A, rank=None), "rank5_trace.json": trace(B, rank=None)})
        self.assertEqual(run.ranks(), [3, 5])

    def test_P11_no_rank_anywhere_names_each_file(self):
        run = self.analyze({name + ".json": trace(A, rank=None) for name in ("one", "two", "three")}, code=2)
        for name in ("one", "two", "three"):
            self.assertIn(name + ".json", run.errors)

    def test_P12_same_rank_twice_is_named(self):
        run = self.analyze({"x.json": trace(A, rank=3), "y.json": trace(B, rank=3)})
        self.assertEqual(run.warnings()["duplicate_rank"], 1)
        self.assertEqual([row["file"] for row in run.table("/ranks") if row["status"] == "ok"], ["x.json"])
        self.assertIn("y.json", str(run.table("/warnings/rows")))

    def test_P13_minified_rank(self):
        self.assertEqual(self.analyze({"t.json": trace(A, head='"distributedInfo":{"rank":5},')}).ranks(), [5])

    def test_P15_kernels_only(self):
        self.assert_has(self.analyze(trace(A, B)).whole(), compute_count=2, memory_count=0, communication_count=0)

    def test_P16_metadata_only_has_no_gpu_events(self):
        for text in (trace('{"ph": "M", "name": "process_name", "args": {"name": "p"}}'), trace()):
            run = self.analyze(text)
            self.assertEqual((run.ranks(), run.warnings()["no_gpu_events"]), ([0], 1))

    def test_P21_killed_by_no_memory_limit_that_fits(self):
        many = trace(*[kernel("k", 10 * i, 5) for i in range(20000)])
        run = self.analyze_folder(self.write(many), before=("prlimit", "--as=1500000000"))
        self.assertEqual(run.whole()["compute_count"], 20000)

    def test_P23_gzip_faults(self):
        whole = gzip.compress(trace(*[kernel("k%d" % (i * i % 97), 3 * i, 1) for i in range(3000)]).encode())
        self.analyze({"rank0.json.gz": gzip.compress(b"")}, code=2)
        run = self.analyze({"rank0.json.gz": whole[:len(whole) // 2]})
        self.assertGreater(run.whole()["compute_count"], 500)
        self.assertEqual(run.warnings()["gzip_cut"], 1)
        run = self.analyze({"rank0.json.gz": whole + b"garbage"})
        self.assertEqual((run.whole()["compute_count"], run.warnings()["gzip_trailing_bytes"]), (3000, 1))
        text = gzip.decompress(whole)
        run = self.analyze({"rank0.json.gz": gzip.compress(text[:5000]) + gzip.compress(text[5000:])})
        self.assertEqual(run.whole()["compute_count"], 3000)

    def test_P24_P48_format_by_content_not_by_name(self):
        run = self.analyze({"iteration_3/rank0_trace.json.gz": trace(A, world=2),
                            "iteration_3/rank1_trace.json": gzip.compress(trace(B, rank=1).encode())})
        self.assertEqual([(row["iteration"], row["rank"]) for row in run.table("/ranks")], [(3, 0), (3, 1)])

    def test_P25_cut_in_a_string_a_number_an_escape(self):
        text = trace(A, B, kernel("last\\\"x", 123456, 1))
        for place in ('"last', 'st\\', "12345"):
            self.assert_kept(text[:text.index(place) + len(place)])

    def test_P27_times_as_text_are_exact(self):
        run = self.analyze(trace(kernel("a", '"1715596800123456.789"', '"0.001"')))
        self.assert_has(run.whole(), gpu_start_ns=1715596800123456789, compute_ns=1)

    def test_P28_nanoseconds_are_kept(self):
        self.assert_has(self.analyze(trace(kernel("a", "10.100", "0.850"))).whole(), compute_sum_ns=850)

    def test_P30_ranges_that_cross_make_no_flood(self):
        ops = ['{"ph": "X", "cat": "cpu_op", "name": "%s", "pid": 9, "tid": 9, "ts": %d, "dur": %d}' % op
               for op in (("outer", 0, 68), ("inner", 8, 71))]
        self.assert_has(self.assert_kept(trace(A, B, *ops)).whole(), compute_count=2)

    def test_P31_overlap_on_a_stream_counts_once(self):
        run = self.analyze(trace(kernel("a", 0, 10), kernel("b", 8, 10)))
        self.assert_has(run.whole(), compute_count=2, compute_ns=18000, compute_sum_ns=20000)

    def test_P32_a_kernel_over_all_others_is_flagged(self):
        run = self.analyze(trace(kernel("long", 0, 1600000), *[kernel("k", 100 * i + 5, 50) for i in range(50)]))
        self.assertIn("overlap_on_stream", run.warnings())
        self.assert_has(run.whole(), compute_ns=1600000000)

    def test_P34_without_correlation(self):
        run = self.analyze(trace(*[kernel("k", 10 * i, 5, **{"External id": i}) for i in range(3)],
                                 launch(1, 0, name="hipLaunchKernel")))
        self.assert_has(run.whole(), compute_count=3)

    def test_P35_external_id_may_equal_correlation(self):
        for external in (4, 9):
            run = self.analyze(trace(A, kernel("ncclDevKernel_AllReduce(x)", 3, 1, correlation=4, **{"External id": external})))
            self.assert_has(run.whole(), communication_count=1)

    def test_P41_execution_trace_is_no_kineto(self):
        run = self.analyze({"observer_0.json": '{"schema": "1.0", "nodes": [{"id": 1, "name": "x"}]}'}, code=2)
        self.assertIn("execution trace", run.errors)

    def test_P42_rank_by_expression_in_natural_order(self):
        names = ["host07_r40.json", "host07_r9.json"]
        run = self.analyze({name: trace(A, rank=None) for name in names}, "--rank-regex", r"_r(\d+)\.")
        self.assertEqual(run.ranks(), [9, 40])

    def test_P43_P46_only_some_ranks(self):
        run = self.analyze({"t%d.json" % r: trace(A, rank=r, world=16) for r in (1, 5, 9)})
        self.assertEqual(run.warnings()["missing_ranks"], 13)
        self.assertRegex(run.summary, r"ranks +3 of 16 analysed")

    def test_P47_form_of_the_file_does_not_matter(self):
        compact = trace('{"ph":"X","cat":"kernel","name":"a","pid":0,"tid":7,"ts":1500000.0,"dur":2,"args":{"device":0,"stream":7}}',
                        separator=",")
        turned = trace('{\n "args": {"stream": 7, "device": 0},\n "dur": 2.000,\n "ts": 1.5e6, "tid": 7, "pid": 0, "name": "a",'
                       ' "cat": "kernel", "ph": "X" }')
        self.assertEqual(self.analyze(compact).whole(), self.analyze(turned).whole())

    def test_byte_order_mark_and_line_ends_of_other_systems(self):
        text = trace(A, B).replace("\n", "\r\n").encode()
        self.assertEqual(self.assert_kept(b"\xef\xbb\xbf" + text).whole()["compute_count"], 2)

    def test_keys_twice_missing_or_of_the_wrong_type(self):
        twice = A.replace('"ts": 1', '"ts": 1, "ts": 1').replace('"name": "a"', '"name": "z", "name": "a"')
        for odd in (B.replace('"dur": 2', '"dur": null'), B.replace('"dur": 2', '"dur": {}'), B.replace('"ts": 5', '"ts": "x"'),
                    B.replace('"ts": 5', '"ts": [5]'), B.replace('"name": "b"', '"name": 7'), B.replace('"tid": 7', '"tid": {}'),
                    B.replace('"args": {', '"args": 3, "more": {'), B.replace('"ph": "X"', '"ph": 1'), "7", "[]", "{}", '"text"'):
            run = self.analyze(trace(twice, odd, kernel("c", 9, 1)))
            self.assertGreaterEqual(run.whole()["compute_count"], 2, odd)
            self.assertIn("c", run.kernels(), odd)

    def test_times_far_out_and_negative_durations(self):
        for start, dur in (("1e300", "1"), ("-1e300", "1"), ("9" * 40, "1"), ("3", "-5"), ("3", "1e300"), ("3", "9" * 40)):
            run = self.analyze(trace(A, kernel("c", start, dur), B))
            for name in "ab":
                self.assertIn(name, run.kernels(), (start, dur))
            self.assertTrue(set(run.warnings()) & {"time_out_of_range", "duration_missing"}, (start, dur))

    def test_P48_nothing_usable_is_an_error(self):
        self.analyze({"rank0.json": "{}"}, code=2)


class NsysTest(FieldTest):

    def database(self, name, *statements, kernels=True):
        path = os.path.join(self.folder, name)
        with sqlite3.connect(path) as base:
            base.execute("CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT)")
            base.executemany("INSERT INTO StringIds VALUES(?, ?)", [(1, "gemm"), (2, "fwd")])
            if kernels:
                base.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER, deviceId INTEGER, "
                             "streamId INTEGER, correlationId INTEGER, globalPid INTEGER, shortName INTEGER, demangledName INTEGER)")
                base.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(100, 300, 0, 7, 1, 16777216, 1, 1)")
            for statement in statements:
                base.execute(statement)
        base.close()
        with open(path, "rb") as file:
            return file.read()

    def read(self, name, *statements, code=0, **kinds):
        return self.analyze({"rank0_" + name: self.database(name, *statements, **kinds)}, code=code)

    def nvtx(self, suffix, columns="text TEXT, textId INTEGER", values="'fwd', NULL"):
        table = "NVTX_EVENTS" + suffix
        return ("CREATE TABLE %s(start INTEGER, end INTEGER, eventType INTEGER, globalTid INTEGER, %s)" % (table, columns),
                "INSERT INTO %s VALUES(-500000000, 400, 59, 16777217, %s)" % (table, values))

    def test_P37_tables_of_ranges_may_be_absent_or_numbered(self):
        for statements in ((), self.nvtx("_V3"), (*self.nvtx("_V10"), *self.nvtx("_V3"))):
            run = self.read("t%d.sqlite" % len(statements), *statements)
            self.assert_has(run.whole(), compute_count=1, compute_ns=200)

    def test_P38_P40_texts_inline_or_by_number_before_zero(self):
        for i, (columns, values) in enumerate((("text TEXT", "'fwd'"), ("textId INTEGER", "2"),
                                               ("text TEXT, textId INTEGER", "NULL, 2"))):
            run = self.read("n%d.sqlite" % i, *self.nvtx("", columns, values))
            self.assert_has(run.whole(), compute_count=1)

    def test_numbers_of_texts_that_can_not_be(self):
        for number in (-7, 99, -2**63, 2**63 - 1):
            run = self.read("u.sqlite", *self.nvtx("", "textId INTEGER", str(number)))
            self.assert_has(run.whole(), compute_count=1)
            os.remove(os.path.join(self.folder, "u.sqlite"))

    def test_times_that_can_not_be(self):
        far = "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(%d, %d, 0, 7, 1, 16777216, 1, 1)"
        for i, (start, end) in enumerate(((-2**63, 2**63 - 1), (2**63 - 2, 2**63 - 1), (-2**63, -2**63 + 5), (2**62, -5))):
            run = self.analyze({"rank0_f.sqlite": self.database("f%d.sqlite" % i, far % (start, end)),
                                "rank1.json": trace(A, rank=1, world=2)})
            self.assert_has(run.whole(1), compute_count=1)

    def test_P39_a_missing_column_is_named(self):
        run = self.read("m.sqlite", "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER)", kernels=False, code=2)
        self.assertRegex(run.errors, r"CUPTI_ACTIVITY_KIND_KERNEL lacks the column deviceId shortName \(schema version unknown\)")

    def test_damaged_databases_hurt_nobody(self):
        whole = self.database("w.sqlite", "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start='text', streamId='x' WHERE 0")
        texts = self.database("x.sqlite", "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES('no', 'number', 'x', 'y', 'z', 'p', 'q', 'r')",
                              "INSERT INTO StringIds VALUES(9, printf('%.*c', 20000000, 'x'))",
                              "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(500, 600, 0, 7, 1, 16777216, 9, 9)")
        for bad in (whole[:5000], whole[:len(whole) // 2], texts):
            run = self.analyze({"rank0.json": trace(A, world=2), "rank1_t.sqlite": bad})
            self.assert_has(run.whole(0), compute_count=1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
