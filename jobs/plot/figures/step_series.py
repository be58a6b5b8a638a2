"""Step time over the steps: median and spread over ranks, with the ranks that fall outside named."""
import numpy as np

import look
from results import grid, in_steps


def outliers(matrix, stages, ratio=1.05, z=3.5):
    """Cells above ratio x the median of their stage and step and far outside its spread: (rank row, step column)."""
    found = np.zeros(matrix.shape, bool)
    for stage in set(stages):
        rows = [row for row, at in enumerate(stages) if at == stage]
        if len(rows) > 2:
            middle = np.nanmedian(matrix[rows], axis=0)
            spread = np.nanmedian(np.abs(matrix[rows] - middle), axis=0)
            far = 0.6745 * (matrix[rows] - middle) > z * np.maximum(spread, 1e-9 * middle)
            found[rows] = (matrix[rows] > ratio * middle) & far
    return np.argwhere(found)


def stages_of(results, ranks):
    """Pipeline stage of each rank label: stages differ in their work, so ranks are compared within one."""
    if not results.has("ranks"):
        return [0] * len(ranks)
    table = results.table("ranks", "rank", "replica", "pp")
    stage = {str(r["rank"]) if r["replica"] < 0 else f"{r['replica']}/{r['rank']}": int(r["pp"]) for r in table}
    return [stage.get(rank, 0) for rank in ranks]


def panel(ax, ranks, steps, matrix, stages, label):
    factor, unit = look.duration_unit(float(np.nanmax(matrix)))
    x = np.arange(len(steps))
    values = matrix / factor
    low, middle, high = (f(values, axis=0) for f in (np.nanmin, np.nanmedian, np.nanmax))
    if len(steps) == 1:
        ax.scatter(np.zeros(len(ranks)), values[:, 0], s=10, color="#8A8A8A", zorder=2, label="a rank")
    elif len(ranks) <= 12:
        for row, of_rank in enumerate(values):
            ax.plot(x, of_rank, color="#8A8A8A", linewidth=0.7, zorder=2, label="" if row else "each rank")
    ax.fill_between(x, low, high, color=look.SKY, alpha=0.45, label="least to most over ranks", linewidth=0)
    ax.plot(x, middle, color=look.BLUE, marker="o" if len(steps) < 40 else None, markersize=3, label="median over ranks")
    found = outliers(matrix, stages)
    by_step = {}
    for row, column in found:
        by_step.setdefault(column, []).append(row)
    for column, rows in sorted(by_step.items()):
        ax.scatter([column] * len(rows), values[rows, column], s=14, color=look.RED, zorder=3,
                   label="longer than its peers" if column == min(by_step) else "")
    for column, rows in list(sorted(by_step.items()))[:: max(1, len(by_step) // 12)]:
        top = max(rows, key=lambda row: values[row, column])
        more = f" +{len(rows) - 1}" if len(rows) > 1 else ""
        ax.annotate(f"rank {ranks[top]}{more}", (column, values[top, column]), xytext=(0, 5),
                    textcoords="offset points", fontsize=7, color=look.RED, ha="center")
    ax.set_ylabel(f"{label} ({unit})")
    ax.set_ylim(0, 1.2 * float(np.nanmax(high)))
    ax.grid(axis="y", color="#E8E8E8")
    return found


def draw(results):
    rows = in_steps(results.table("metrics/iter_time/rows", "iteration", "step", "rank", "period_ns"))
    rows = rows[rows["period_ns"] >= 0]
    ranks, steps, period = grid(rows, "period_ns")
    budget = None
    if results.has("metrics/comm_comp_overlap/rows"):
        budget = grid(in_steps(results.table("metrics/comm_comp_overlap/rows")), "compute_ns")
    fig, axes = look.figure(2 if budget else 1, 1, width=9, height=5.2 if budget else 3.4, squeeze=False)
    panel(axes[0, 0], ranks, steps, period, stages_of(results, ranks), "step period on the GPU")
    found = panel(axes[1, 0], *budget, stages_of(results, budget[0]), "compute time of the step") if budget else []
    for ax, labels in ((axes[0, 0], steps),) + (((axes[1, 0], budget[1]),) if budget else ()):
        look.label_rows(ax.xaxis, labels, most=24)
        ax.set_xlabel("step (iteration)" if "\n" in steps[0] else "step")
    named = dict(entry for ax in axes[:, 0] for entry in zip(*reversed(ax.get_legend_handles_labels())))
    look.legend_below(axes[-1, 0], ncols=4, handles=list(named.values()), labels=list(named))
    slowest = np.nanmax(period, axis=0)
    text = f"A step takes {look.say_ns(float(slowest.mean()))}"
    if len(steps) > 1:
        text += f" ({look.say_ns(float(slowest.min()))} to {look.say_ns(float(slowest.max()))} over {len(steps)} steps)"
    if len(found):
        often, times = np.unique(found[:, 0], return_counts=True)
        worst = often[times.argmax()]
        text += f"; rank {budget[0][worst]} computes longer than its peers"
        text += f" in {times.max()} of them" if len(steps) > 1 else ""
        text += f", {len(often) - 1} further ranks at times" if len(often) > 1 else ""
    elif budget and len(ranks) > 1:
        text += "; no rank computes clearly longer than its peers"
    look.title(fig, text)
    return fig
