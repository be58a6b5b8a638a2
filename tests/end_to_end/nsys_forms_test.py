"""One export of Nsight Systems in all its forms gives one answer: SQLite with payloads as blobs or as JSON text, JSON
lines in any order, plain or gzip, and the older --type=json in both of its string layouts. The other forms are made
here from ccl-synth's SQLite file, by the rules of the formats alone."""
import gzip
import json
import os
import random
import shutil
import sqlite3
import struct
import unittest

from planted import Folder, Output, analyze

PAYLOAD = ("traffic_distribution/by_group", "coll_call_num/by_group", "straggler_lag/rows", "bandwidth/rows")
TIMES = ("iter_time/rows", "comm_comp_overlap/rows", "gpu_utilization/rows", "kernel/rows", "kernel/top",
         "cpu_overhead/rows", "training_phases/rows", "hardware_saturation/by_direction")
COUNTERS = ("hardware_saturation/counters",)


def open_base(path):
    base = sqlite3.connect(path)
    base.row_factory = sqlite3.Row
    return base


def payload_text(base, blob):
    """What --include-json=true writes for a payload."""
    _, schema, size, _ = struct.unpack_from("<4Q", blob)
    fields = {}
    for row in base.execute("SELECT name, type, COALESCE(offset, 0) AS at FROM NVTX_PAYLOAD_SCHEMA_ENTRIES "
                            "WHERE schemaId = ? ORDER BY idx", (schema,)):
        form = {5: "<i", 18: "<Q", 22: "<Q"}[row["type"]]
        if row["at"] + struct.calcsize(form) <= size:
            fields[row["name"]] = struct.unpack_from(form, blob, 32 + row["at"])[0]
    return json.dumps(fields)


def rows_of(base):
    """(table, {column: value}) of every row; blobs become JSON text."""
    tables = [row[0] for row in base.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    for table in tables:
        for row in base.execute(f"SELECT * FROM {table}"):
            cells = {key: row[key] for key in row.keys() if row[key] is not None}
            blob = cells.pop("binaryData", None)
            if blob is not None:
                cells["jsonText"] = payload_text(base, blob)
            yield table, cells


def json_lines(base, seed):
    lines = [json.dumps({"table": table, **cells}, sort_keys=True) for table, cells in rows_of(base)]
    random.Random(seed).shuffle(lines)
    return lines


def old_json(base, one_list):
    """nsys export --type=json, about 2022: 64-bit integers are strings, strings lie apart."""
    strings, events = {}, []
    for table, c in rows_of(base):
        ids = {key: str(value) for key, value in c.items()}
        if table == "StringIds":
            strings[c["id"]] = c["value"]
        elif table == "NVTX_EVENTS":
            event = {"Type": c["eventType"], "Timestamp": ids["start"], "GlobalTid": ids["globalTid"],
                     "DomainId": ids["domainId"], "NsTime": True}
            for key, name in (("end", "EndTimestamp"), ("text", "Text"), ("textId", "TextId")):
                if key in c:
                    event[name] = ids[key]
            events.append({"Type": c["eventType"], "NvtxEvent": event})
        elif table == "CUPTI_ACTIVITY_KIND_RUNTIME":
            events.append({"Type": 48, "TraceProcessEvent": {
                "startNs": ids["start"], "endNs": ids["end"], "correlationId": c["correlationId"],
                "eventClass": c["eventClass"], "name": ids["nameId"], "globalTid": ids["globalTid"]}})
        elif table in ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET"):
            kind = table.rsplit("_", 1)[1].lower()
            inner = ({key: ids[key] if key.endswith("Name") else c[key] for key in
                      ("demangledName", "shortName", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ")}
                     if kind == "kernel" else {"sizebytes": ids["bytes"], **({"copyKind": c["copyKind"]}
                                                                            if "copyKind" in c else {})})
            events.append({"Type": 79 if kind == "kernel" else 80, "CudaEvent": {
                "startNs": ids["start"], "endNs": ids["end"], "correlationId": c["correlationId"],
                "deviceId": c["deviceId"], "contextId": ids["contextId"], "streamId": ids["streamId"],
                "eventClass": {"kernel": 3, "memcpy": 1, "memset": 2}[kind], "globalPid": ids["globalPid"],
                kind: inner}})
        elif table == "ThreadNames":
            events.append({"type": "ThreadName", "globalTid": ids["globalTid"], "nameId": ids["nameId"],
                           "priority": ids["priority"]})
    if one_list:
        data = [strings.get(i, "") for i in range(max(strings) + 1)]
        return [json.dumps({"data": data})] + [json.dumps(event) for event in events]
    return ([json.dumps(event) for event in events] +
            [json.dumps({"type": "String", "id": str(i), "value": text}) for i, text in strings.items()])


class NsysFormsTest(unittest.TestCase):
    maxDiff = 1500

    @classmethod
    def setUpClass(cls):
        cls.folder = Folder("--format", "nsys", "--steps", "2", "--mesh", "dp_shard=2,tp=2")
        cls.exports = [os.path.join(cls.folder.traces, n) for n in sorted(os.listdir(cls.folder.traces))
                       if n.endswith(".sqlite")]
        cls.expected = cls.folder.analyze()

    @classmethod
    def tearDownClass(cls):
        cls.folder.remove()

    def analyzed(self, name, write, options=()):
        """The folder with every export replaced by what write(base, path without ending) makes of it."""
        target = os.path.join(self.folder.path, name, "traces")
        os.makedirs(target)
        for other in os.listdir(self.folder.traces):
            if not other.endswith(".sqlite"):
                shutil.copy(os.path.join(self.folder.traces, other), target)
        for path in self.exports:
            base = open_base(path)
            write(base, os.path.join(target, os.path.basename(path)[:-len(".sqlite")]))
            base.close()
        output = os.path.join(self.folder.path, name + ".h5")
        return Output(output, analyze(target, output, options=options))

    def same(self, output, names):
        for name in names:
            with self.subTest(name):
                expected = self.expected.table("/metrics/" + name)
                self.assertTrue(expected)
                self.assertEqual(repr(output.table("/metrics/" + name)), repr(expected))

    def test_payloads_as_json_text(self):
        def write(base, path):
            shutil.copy(self.exports[0] if path.endswith("_0") else self.exports[1], path + ".sqlite")
            copy = open_base(path + ".sqlite")
            texts = [(payload_text(copy, row["binaryData"]), row["rowid"]) for row in copy.execute(
                "SELECT rowid, binaryData FROM NVTX_EVENTS WHERE binaryData IS NOT NULL")]
            copy.executemany("UPDATE NVTX_EVENTS SET jsonText = ?, binaryData = NULL WHERE rowid = ?", texts)
            copy.commit()
            copy.close()

        self.same(self.analyzed("texts", write), PAYLOAD + TIMES + COUNTERS)

    def test_json_lines_in_any_order(self):
        for seed, packed in ((1, False), (2, True)):
            def write(base, path):
                text = "\n".join(json_lines(base, seed)) + "\n"
                if packed:
                    with gzip.open(path + ".jsonl.gz", "wt", encoding="utf-8") as file:
                        file.write(text)
                else:
                    with open(path + ".jsonl", "w", encoding="utf-8") as file:
                        file.write(text)

            self.same(self.analyzed(f"lines{seed}", write), PAYLOAD + TIMES + COUNTERS)

    def test_old_json_with_both_string_layouts(self):
        for one_list in (True, False):
            def write(base, path):
                with open(path + ".json", "w", encoding="utf-8") as file:
                    file.write("\n".join(old_json(base, one_list)) + "\n")

            output = self.analyzed(f"old{one_list}", write)
            self.same(output, TIMES)
            self.assertEqual({row["world_size"] for row in output.table("/ranks")}, {-1})  # told by payloads only

    def test_a_cut_line_is_named_and_the_rest_is_used(self):
        def write(base, path):
            lines = json_lines(base, 3)
            lines.insert(5, '{"table":"NVTX_EVENTS","start":')
            with open(path + ".jsonl", "w", encoding="utf-8") as file:
                file.write("\n".join(lines) + '\n{"table":"CUPTI_ACTIVITY_KIND_KERNEL","start":12')

        output = self.analyzed("cut", write)
        self.same(output, TIMES)
        warnings = output.warnings()
        self.assertEqual((warnings["event_damaged"], warnings["file_cut"]), (len(self.exports), len(self.exports)))


if __name__ == "__main__":
    unittest.main(verbosity=2)
