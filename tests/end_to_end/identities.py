"""What must hold between the numbers of any output, whatever the input: budgets add up, parts are no larger than their
whole, both sides of a wait are the same wait. Every function returns a list of breaches, as text."""
import collections


def keyed(rows, *names):
    return {tuple(row[name] for name in names): row for row in rows}


def breaches(rows, rules):
    """rules: name -> function of a row that is true."""
    return [f"{name}: {row}" for row in rows for name, holds in rules.items() if not holds(row)]


def within(value, low=0.0, high=1.0):
    return value != value or low - 1e-9 <= value <= high + 1e-9  # NaN = absent


def overlap_budget(output):
    return breaches(output.table("/metrics/comm_comp_overlap/rows"), {
        "period": lambda r: r["period_ns"] == r["gap_ns"] + r["window_ns"],
        "window": lambda r: r["window_ns"] == r["busy_ns"] + r["idle_ns"],
        "parts of the window": lambda r: r["window_ns"] == sum(
            r[name] for name in ("compute_only_ns", "overlap_ns", "exposed_ns", "memory_only_ns", "idle_ns")),
        "communication": lambda r: r["communication_ns"] == r["overlap_ns"] + r["exposed_ns"],
        "compute": lambda r: r["compute_ns"] == r["compute_only_ns"] + r["overlap_ns"],
        "overlap": lambda r: 0 <= r["overlap_ns"] <= min(r["communication_ns"], r["compute_ns"]),
        "compute in busy": lambda r: r["compute_ns"] <= r["busy_ns"] <= r["window_ns"] <= r["period_ns"],
        "shares": lambda r: within(r["overlap_of_communication_ratio"]) and within(r["exposed_of_period_ratio"])})


def utilization(output):
    return breaches(output.table("/metrics/gpu_utilization/rows"), {
        "period": lambda r: r["period_ns"] == r["busy_ns"] + r["idle_ns"],
        "parts": lambda r: max(r["compute_ns"], r["communication_ns"], r["memory_ns"]) <= r["busy_ns"]})


def device_budget(output):
    exposed = keyed(output.table("/metrics/comm_comp_overlap/rows"), "iteration", "step", "rank", "device", "replica")
    rows = output.table("/metrics/blocking_comm/rows")
    lines = breaches(rows, {
        "period": lambda r: r["period_ns"] == r["compute_ns"] + r["compute_absent_ns"],
        "absent": lambda r: not r["launches_known"] or r["compute_absent_ns"] == sum(
            r[name] for name in ("launch_starved_ns", "blocking_ns", "copying_ns", "dependency_stalled_ns"))})
    for row in rows:
        of = exposed.get(tuple(row[name] for name in ("iteration", "step", "rank", "device", "replica")))
        if of is None or row["blocking_ns"] > of["exposed_ns"]:
            lines.append(f"blocking within exposed: {row}")
    return lines


def efficiencies(output):
    return breaches(output.table("/metrics/efficiency/rows"), {
        "product": lambda r: r["useful_sum_ns"] == 0 or abs(
            r["parallel_efficiency_ratio"] - r["load_balance_ratio"] * r["communication_efficiency_ratio"]) < 1e-9,
        "range": lambda r: all(within(r[name]) for name in (
            "parallel_efficiency_ratio", "load_balance_ratio", "communication_efficiency_ratio")),
        "useful": lambda r: r["useful_max_ns"] <= min(r["useful_sum_ns"], r["length_ns"])})


def kernels(output):
    """Every kernel is in exactly one row of the kernel metric."""
    counted, expected = collections.Counter(), collections.Counter()
    for row in output.table("/metrics/kernel/rows"):
        counted[row["iteration"], row["rank"]] += row["count"]
    for row in output.table("/metrics/gpu_utilization/whole"):
        expected[row["iteration"], row["rank"]] += row["kernels_count"]
    return [] if counted == expected else [f"kernels: {counted} in rows, {expected} in the files"]


def waits(output):
    """Who waits and who is waited for are two views of the same time."""
    waiting, blamed, planted = collections.Counter(), collections.Counter(), collections.Counter()
    for row in output.table("/metrics/straggler_lag/rows"):
        key = row["iteration"], row["step"]
        waiting[key] += row["wait_ns"]
        blamed[key] += row["blamed_wait_ns"]
        if row["blame_ns"] > row["blamed_wait_ns"]:
            planted[key] += 1
    lines = [f"waits of step {key}: {waiting[key]} waited, {blamed[key]} blamed"
             for key in waiting if waiting[key] != blamed[key]]
    matrix = sum(row["wait_ns"] for row in output.table("/metrics/straggler_lag/blame_matrix"))
    if matrix != sum(waiting.values()):
        lines.append(f"blame matrix holds {matrix}, the ranks waited {sum(waiting.values())}")
    return lines + [f"blame above the waits it caused, step {key}" for key in planted]


def traffic(output):
    """Parts add up to the rows; what is sent is received."""
    parts, lines = collections.Counter(), []
    sent, received = collections.Counter(), collections.Counter()
    for row in output.table("/metrics/traffic_distribution/by_group"):
        if row["wire_bytes"] > 0:
            parts[row["iteration"], row["step"], row["rank"], row["replica"]] += row["wire_bytes"]
        if row["op"] == "send":
            sent[row["step"], row["group"]] += row["payload_bytes"]
        if row["op"] == "recv":
            received[row["step"], row["group"]] += row["payload_bytes"]
    for row in output.table("/metrics/traffic_distribution/rows"):
        key = row["iteration"], row["step"], row["rank"], row["replica"]
        if row["wire_bytes"] >= 0 and parts[key] != row["wire_bytes"]:
            lines.append(f"wire bytes {key}: {parts[key]} by group, {row['wire_bytes']} in all")
    return lines + [f"sent {sent[key]}, received {received[key]} in {key}" for key in sent if sent[key] != received[key]]


def phases(output):
    names = ("forward_ns", "recompute_ns", "backward_ns", "grad_clip_ns", "optimizer_ns", "other_ns")
    return breaches(output.table("/metrics/training_phases/rows"), {
        "phase in period": lambda r: all(0 <= r[name] <= r["period_ns"] for name in names)})


def bubbles(output):
    return breaches(output.table("/metrics/pipeline_bubble/rows"), {
        "parts": lambda r: r["bubble_ns"] == r["pp_wait_ns"] + r["idle_ns"],
        "within": lambda r: 0 <= r["bubble_ns"] <= r["window_ns"]})


def everything(output):
    """name -> breaches, of one output of a run over whole files of all ranks."""
    return {check.__name__: check(output) for check in (overlap_budget, utilization, device_budget, efficiencies, kernels,
                                                        waits, traffic, phases, bubbles)}
