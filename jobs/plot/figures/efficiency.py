"""POP efficiencies as a tree of products, and over the windows of the steps."""
import numpy as np

import look

TREE = [("parallel_efficiency_ratio", "parallel efficiency", 0.5, 2),
        ("load_balance_ratio", "load balance", 0.22, 1), ("communication_efficiency_ratio", "communication efficiency", 0.7, 1),
        ("serialisation_efficiency_ratio", "serialisation", 0.5, 0), ("transfer_efficiency_ratio", "transfer", 0.9, 0)]
LINES = [("parallel_efficiency_ratio", look.BLUE, "-"), ("load_balance_ratio", look.ORANGE, "--"),
         ("communication_efficiency_ratio", look.GREEN, ":")]


def tree(ax, attributes):
    place = {}
    for name, label, x, y in TREE:
        value = float(attributes.get(name, np.nan))
        if not np.isfinite(value):
            continue
        place[name] = (x, y)
        color = look.GREEN if value >= 0.8 else look.ORANGE if value >= 0.6 else look.RED
        ax.text(x, y, f"{label}\n{value:.1%}", ha="center", va="center", fontsize=10,
                bbox={"boxstyle": "round,pad=0.5", "facecolor": "white", "edgecolor": color, "linewidth": 2.5})
    for parent, children in ((TREE[0][0], (TREE[1][0], TREE[2][0])), (TREE[2][0], (TREE[3][0], TREE[4][0]))):
        there = [child for child in children if child in place]
        for child in there:
            (x0, y0), (x1, y1) = place[parent], place[child]
            ax.plot([x0, x1], [y0, y1], color=look.GREY, zorder=0)
        if len(there) == 2:
            x, y = place[parent]
            ax.text(x, y - 0.62, "product of", ha="center", fontsize=8, backgroundcolor="white")
    ax.set_xlim(-0.05, 1.05)
    ax.set_ylim((-0.5 if TREE[3][0] in place or TREE[4][0] in place else 0.5), 2.5)
    ax.axis("off")


def draw(results):
    attributes = results.metric("efficiency")
    windows = results.table("metrics/efficiency/windows", "iteration", "step", "window", *[line[0] for line in LINES])
    fig, (top, ax) = look.figure(2, 1, width=9, height=5.4, gridspec_kw={"height_ratios": [1, 1.1]})
    tree(top, attributes)
    order = np.lexsort((windows["window"], windows["step"], windows["iteration"]))
    windows = windows[order]
    x = np.arange(len(windows))
    for name, color, style in LINES:
        ax.plot(x, windows[name], style, color=color, label=name[:-6].replace("_", " "),
                linewidth=1.2 if len(x) < 400 else 0.6)
    begins = np.flatnonzero(np.r_[True, np.diff(windows["step"]) != 0])
    for at in begins:
        ax.axvline(at - 0.5, color="#D0D0D0", linewidth=0.8, zorder=0)
    wanted = begins[:: max(1, -(-len(begins) // 24))]
    ax.set_xticks(wanted, [str(step) for step in windows["step"][wanted]])
    ax.axhline(0.8, color="black", linestyle="--", linewidth=0.8, label="0.8: acceptable")
    ax.set_ylim(0, 1.05)
    ax.set_xlim(-0.5, len(x) - 0.5)
    ax.set_xlabel("step, 20 equal windows in each")
    ax.set_ylabel("efficiency (ratio)")
    look.legend_below(ax, ncols=4)
    parallel, balance, traffic = (float(attributes.get(line[0], np.nan)) for line in LINES)
    what = f"load imbalance costs most (load balance {balance:.0%}, communication efficiency {traffic:.0%})"
    if balance >= traffic:
        what = f"even the busiest GPU computes {traffic:.0%} only (communication efficiency; load balance {balance:.0%})"
    look.title(fig, f"All GPUs together spend {parallel:.0%} of the step computing; {what}")
    return fig
