"""Compares what ccl-analyze says with the truth of ccl-synth. Every function returns a list of disagreements, as text;
an empty list means that all planted facts of its kind were recovered."""
import collections

SYMMETRIC = {"all_reduce", "all_gather", "reduce_scatter", "all_to_allv"}


def differences(what, expected, found):
    """Two dicts key -> value (or tuple of values)."""
    lines = []
    for key in sorted(set(expected) | set(found), key=str):
        if expected.get(key) != found.get(key):
            lines.append(f"{what} {key}: planted {expected.get(key)}, found {found.get(key)}")
    return lines


def coverage(truth, output):
    found = sorted({row["rank"] for row in output.table("/ranks")})
    attributes = output.attributes()
    lines = differences("ranks", {"present": truth["present_ranks"]}, {"present": found})
    expected = {"ranks_expected": truth["world_size"], "ranks_covered": len(truth["present_ranks"]),
                "world_size": truth["world_size"]}
    return lines + differences("root", expected, {name: attributes.get(name) for name in expected})


def mesh_places(truth, output):
    """The place of every rank in the mesh, outermost first: pp, dp, cp, tp. Megatron's files do not tell whether data
    parallelism shards or replicates, so its two parts are taken together."""
    mesh, rows = truth["mesh"], output.table("/ranks")
    shards = max(row["dp_shard"] for row in rows) + 1
    sizes = {"tp": mesh["tp"], "cp": mesh["cp"], "dp": mesh["dp_replicate"] * mesh["dp_shard"], "pp": mesh["pp"]}
    lines = []
    for row in rows:
        found = dict(row, dp=row["dp_replicate"] * shards + row["dp_shard"])
        rank, expected = row["rank"], {}
        for name, size in sizes.items():
            expected[name] = rank % size
            rank //= size
        lines += differences(f"rank {row['rank']}", expected, {name: found[name] for name in sizes})
    return lines


def hosts(truth, output):
    per_host = truth["ranks_per_host"]
    by_host = collections.defaultdict(set)
    for row in output.table("/ranks"):
        by_host[row["host"]].add(row["rank"] // per_host)
    return [f"host {name} holds ranks of planted hosts {found}" for name, found in by_host.items() if len(found) != 1]


def steps(truth, output):
    def values(row):
        return row["start_ns"], row["end_ns"], row["gpu_start_ns"], row["gpu_end_ns"]

    expected = {(r.rank, r.step): (r.cpu_start_ns, r.cpu_end_ns, r.gpu_start_ns, r.gpu_end_ns)
                for r in truth["rank_steps"]}
    found = {(row["rank"], row["step"]): values(row) for row in output.table("/steps")}
    return differences("step", expected, found)


def gaps(truth):
    """(rank, step) -> device idle before the step's first GPU event: since the latest earlier end in its file, or since
    the start of the CPU step."""
    result, last_end = {}, {}
    for r in sorted(truth["rank_steps"], key=lambda row: (row.rank, row.step)):
        if (r.step - truth["first_step"]) % truth["steps_per_iteration"] == 0:
            last_end.pop(r.rank, None)
        since = last_end.get(r.rank, r.cpu_start_ns)
        result[r.rank, r.step] = max(0, r.gpu_start_ns - since)
        last_end[r.rank] = max(last_end.get(r.rank, 0), r.gpu_end_ns)
    return result


def budgets(truth, output):
    names = ["compute_ns", "communication_ns", "overlap_ns", "exposed_ns", "memory_only_ns", "idle_ns", "busy_ns"]
    gap = gaps(truth)
    expected = {(r.rank, r.step): (r.gpu_end_ns - r.gpu_start_ns, gap[r.rank, r.step],
                                   *(getattr(r, name) for name in names)) for r in truth["rank_steps"]}
    found = {(row["rank"], row["step"]): (row["window_ns"], row["gap_ns"], *(row[name] for name in names))
             for row in output.table("/metrics/comm_comp_overlap/rows")}
    return differences("budget", expected, found)


def utilization(truth, output):
    gap = gaps(truth)
    expected = {(r.rank, r.step): (r.busy_ns, r.kernels_count, r.idle_ns + gap[r.rank, r.step])
                for r in truth["rank_steps"]}
    found = {(row["rank"], row["step"]): (row["busy_ns"], row["kernels_count"], row["idle_ns"])
             for row in output.table("/metrics/gpu_utilization/rows")}
    return differences("utilization", expected, found)


def step_times(truth, output):
    gap = gaps(truth)
    expected = {(r.rank, r.step): (r.cpu_end_ns - r.cpu_start_ns, r.gpu_end_ns - r.gpu_start_ns, gap[r.rank, r.step])
                for r in truth["rank_steps"]}
    found = {(row["rank"], row["step"]): (row["step_ns"], row["gpu_span_ns"], row["gap_ns"])
             for row in output.table("/metrics/iter_time/rows")}
    return differences("step time", expected, found)


def total_calls(truth, output):
    expected = {(r.rank, r.step): r.communication_count for r in truth["rank_steps"]}
    found = {(row["rank"], row["step"]): row["calls_count"] for row in output.table("/metrics/coll_call_num/rows")}
    return differences("calls", expected, found)


def total_bytes(truth, output):
    """Payload by rank, step and operation, where the dimension is not known."""
    expected, found = collections.Counter(), collections.Counter()
    for r in truth["traffic"]:
        expected[r.rank, r.step, r.op.replace("all_to_allv", "all_to_all")] += r.payload_bytes
    for row in output.table("/metrics/traffic_distribution/by_group"):
        found[row["rank"], row["step"], row["op"]] += row["payload_bytes"]
    return differences("bytes", expected, found)


def calls(truth, output):
    lines = total_calls(truth, output)
    expected = collections.Counter()
    for r in truth["traffic"]:
        expected[r.rank, r.step, r.dimension, r.op] += r.calls_count
    found = collections.Counter()
    for row in output.table("/metrics/coll_call_num/by_group"):
        if row["step"] >= 0:
            found[row["rank"], row["step"], row["dimension"], row["op"]] += row["calls_count"]
    return lines + differences("calls", expected, found)


def traffic(truth, output, names=("calls_count", "in_bytes", "out_bytes", "payload_bytes", "wire_bytes")):
    expected = {(r.rank, r.step, r.dimension, r.op): (*(getattr(r, name) for name in names), r.sum_ns)
                for r in truth["traffic"]}
    sums = collections.defaultdict(lambda: [0] * (len(names) + 1))
    for row in output.table("/metrics/traffic_distribution/by_group"):
        if row["step"] < 0:
            continue
        key = row["rank"], row["step"], row["dimension"], row["op"]
        for i, name in enumerate((*names, "time_ns")):
            sums[key][i] += row[name]
    return differences("traffic", expected, {key: tuple(value) for key, value in sums.items()})


def overlap_by(truth, output):
    """Σ over the dimensions of calls and durations; their unions can not be added, so only these are planted."""
    lines = []
    for table, field in (("by_op", "op"), ("by_dimension", "dimension")):
        expected, found = collections.Counter(), collections.Counter()
        for r in truth["traffic"]:
            expected[r.rank, r.step, getattr(r, field)] += r.sum_ns
        for row in output.table(f"/metrics/comm_comp_overlap/{table}"):
            found[row["rank"], row["step"], row[field]] += row["sum_ns"]
        lines += differences(f"overlap {table}", expected, found)
    return lines


def group_keys(truth, output):
    """(planted group -> key, row of /process_groups -> key), key = (description, members)."""
    members = collections.defaultdict(dict)
    for row in output.table("/process_group_members"):
        members[row["group"]][row["position"]] = row["rank"]
    found = {row["group"]: (row["description"], tuple(rank for _, rank in sorted(members[row["group"]].items())))
             for row in output.table("/process_groups")}
    return {g.group: (g.description, tuple(g.members)) for g in truth["groups"]}, found


def groups(truth, output, used_only=True):
    planted, found = group_keys(truth, output)
    used = {r.group for r in truth["collectives"]} if used_only else set(planted)
    expected = {planted[g.group]: (g.dimension, len(g.members)) for g in truth["groups"] if g.group in used}
    rows = {found[row["group"]]: (row["dimension"], row["group_size"]) for row in output.table("/process_groups")
            if row["description"] != "default_pg"}
    return differences("group", expected, {key: rows.get(key) for key in expected})


def matched(truth, output):
    """Pairs (planted collective, row of /collectives/instances) and what has no partner.
    Within a step, communicator and operation both are in the order of time."""
    planted_key, found_key = group_keys(truth, output)
    planted, found = collections.defaultdict(list), collections.defaultdict(list)
    for c in truth["collectives"]:
        if c.members_seen > 1 and c.op in SYMMETRIC:
            planted[c.step, planted_key[c.group], c.op].append(c)
    for row in output.table("/collectives/instances"):
        if row["op"] in SYMMETRIC and row["step"] >= 0 and row["members_seen"] > 1:
            found[row["step"], found_key[row["group"]], row["op"]].append(row)
    pairs, lines = [], []
    for key in sorted(set(planted) | set(found), key=str):
        ours, theirs = planted[key], found[key]
        ours.sort(key=lambda c: c.sequence)
        theirs.sort(key=lambda row: row["last_end_ns"])
        if len(ours) != len(theirs):
            lines.append(f"collectives {key}: planted {len(ours)}, found {len(theirs)}")
        pairs += zip(ours, theirs)
    return pairs, lines


def collectives(truth, output):
    """Every word of every symmetric collective: all of them are clock-free."""
    names = ["transfer_ns", "lag_ns", "first_rank", "last_rank", "delay_ns", "wait_sum_ns", "tie", "members_seen",
             "start_spread_file_ns"]
    pairs, lines = matched(truth, output)
    expected = {c.instance: tuple(int(getattr(c, name)) for name in names) for c, _ in pairs}
    found = {c.instance: tuple(int(row[name]) for name in names) for c, row in pairs}
    lines += differences("collective", expected, found)
    return lines + [f"collective {c.instance} is called suspect" for c, row in pairs if row["suspect"]]


def spreads(truth, output, tolerance_ns):
    """Spreads on the corrected clock, as good as the estimated clock is."""
    lines = []
    for c, row in matched(truth, output)[0]:
        for name in ("start_spread_ns", "end_spread_ns"):
            if abs(getattr(c, name) - row[name]) > tolerance_ns:
                lines.append(f"collective {c.instance} {name}: planted {getattr(c, name)}, found {row[name]}")
    return lines


def pairs(truth, output):
    """Send and receive: every planted message is one instance of two members. Where a group has more than two members
    and nothing tells the peer, nothing may be paired."""
    size = {g.group: len(g.members) for g in truth["groups"]}
    expected = collections.Counter(
        (c.step, c.source_rank, c.destination_rank) for c in truth["collectives"]
        if c.op == "send" and c.members_seen == 2 and (truth["peers_named"] or size[c.group] == 2))
    ends = collections.defaultdict(list)
    for row in output.table("/collectives/members"):
        ends[row["instance"]].append(row["rank"])
    rows = {row["instance"]: row for row in output.table("/collectives/instances") if row["match"] == "pair"}
    planted = collections.Counter()
    for (step, source, destination), count in expected.items():
        planted[step, frozenset((source, destination))] += count
    found = collections.Counter((row["step"], frozenset(ends[i])) for i, row in rows.items()
                                if row["members_seen"] == 2)
    return differences("pairs", planted, found)


def blame(truth, output):
    names = ["blame_ns", "blamed_wait_ns", "wait_ns", "times_last_count", "times_first_count", "instances_count"]
    columns = ["blame_ns", "blamed_wait_ns", "wait_ns", "last_count", "first_count", "instances_count"]
    expected = {(r.rank, r.step): tuple(getattr(r, name) for name in names) for r in truth["blame"]}
    found = {(row["rank"], row["step"]): tuple(row[name] for name in columns)
             for row in output.table("/metrics/straggler_lag/rows")}
    return differences("blame", expected, found)


def clocks(truth, output):
    """Offsets within 2 µs + half the planted end skew at the reference time; host 0 is the reference."""
    planted = {h.host: h for h in truth["hosts"]}
    attributes, lines = output.attributes(), []
    reference = planted[attributes["clock_reference"] // truth["ranks_per_host"]]
    start = min(r.gpu_start_ns for r in truth["rank_steps"])
    for row in output.table("/ranks"):
        host = planted[row["rank"] // truth["ranks_per_host"]]
        drift = host.clock_drift_ppb - reference.clock_drift_ppb
        true_ns = (attributes["clock_t_ref_ns"] - 1_790_000_000_000_000_000)
        expected = reference.clock_offset_ns - host.clock_offset_ns - drift * true_ns / 1e9
        # A drift that is too small to be fitted moves the offset by at most its effect over the trace.
        over_trace = abs(drift) * (max(r.gpu_end_ns for r in truth["rank_steps"]) - start) / 1e9
        allowed = 2_000 + truth["end_skew_ns"] / 2 + over_trace
        if abs(row["clock_offset_ns"] - expected) > allowed:
            lines.append(f"clock of rank {row['rank']}: planted {expected:.0f} ± {allowed:.0f}, "
                         f"found {row['clock_offset_ns']}")
    return lines


def timeline(truth, output):
    """Σ over the bins = Σ over steps of the budget, for compute and overlap and communication."""
    names = ["compute_ns", "communication_ns", "overlap_ns"]
    expected, found = collections.Counter(), collections.Counter()
    for r in truth["rank_steps"]:
        for name in names:
            expected[r.rank, name] += getattr(r, name)
    rows = output.table("/ranks")
    for iteration in sorted({row["iteration"] for row in rows}):
        ranks = [row["rank"] for row in rows if row["iteration"] == iteration]
        for name in names:
            for rank, bins in zip(ranks, output.matrix(f"/timeline/iteration_{iteration}/{name}")):
                found[rank, name] += int(bins[bins >= 0].sum())
    return differences("timeline", expected, found)


def phases(truth, output):
    """Union of the GPU events launched in each phase; weight gradients apart are backward too."""
    pieces = collections.defaultdict(list)
    for k in truth["kernels"]:
        phase = "grad_clip" if k.category == "grad_norm" else {"weight": "backward"}.get(k.phase, k.phase)
        pieces[k.rank, k.step, phase].append((k.start_ns, k.end_ns))
    names = ["forward", "recompute", "backward", "grad_clip", "optimizer", "other"]
    expected = {(r.rank, r.step): tuple(length(pieces[r.rank, r.step, name]) for name in names)
                for r in truth["rank_steps"]}
    found = {(row["rank"], row["step"]): tuple(row[f"{name}_ns"] for name in names)
             for row in output.table("/metrics/training_phases/rows")}
    return differences("phases", expected, found)


def length(pieces):
    """Of the union of intervals."""
    total, covered = 0, 0
    for start, end in sorted(pieces):
        if end > covered:
            total += end - max(start, covered)
            covered = end
    return total


def everything(truth, output, spread_tolerance_ns):
    """name -> disagreements, of all that can be compared on a healthy set of files."""
    return {
        "coverage": coverage(truth, output),
        "mesh places": mesh_places(truth, output),
        "hosts": hosts(truth, output),
        "steps": steps(truth, output),
        "budgets": budgets(truth, output),
        "utilization": utilization(truth, output),
        "step times": step_times(truth, output),
        "calls": calls(truth, output),
        "traffic": traffic(truth, output),
        "overlap by op and dimension": overlap_by(truth, output),
        "groups": groups(truth, output),
        "collectives": collectives(truth, output),
        "spreads": spreads(truth, output, spread_tolerance_ns),
        "pairs": pairs(truth, output),
        "blame": blame(truth, output),
        "clocks": clocks(truth, output),
        "timeline": timeline(truth, output),
        "phases": phases(truth, output),
    }
