"""Rank x time: how much of each bin a GPU computes, communicates without computing, or stands still."""
import numpy as np

import look
from results import Skip, corrected_ns


def pick_iteration(results):
    iterations = results.iterations()
    if not iterations:
        if results.has("metrics/timeline"):
            results.metric("timeline")  # says why it is absent
        raise Skip("the file has no timeline")
    return iterations[len(iterations) // 2], len(iterations)


def step_starts(results, iteration, reference):
    """Earliest corrected GPU start of each step, in ns after the reference."""
    if not results.has("steps") or not results.has("ranks"):
        return []
    steps = results.table("steps")
    steps = steps[(steps["iteration"] == iteration) & (steps["step"] >= 0) & (steps["gpu_start_ns"] > 0)]
    starts = {}
    for number, at in zip(steps["step"], corrected_ns(results, steps, "gpu_start_ns") if len(steps) else ()):
        starts[int(number)] = min(int(at) - reference, starts.get(int(number), int(at) - reference))
    return sorted(starts.items())


def draw(results):
    iteration, count = pick_iteration(results)
    base = f"timeline/iteration_{iteration}"
    for name in ("bin_edges_ns", "compute_ns", "communication_ns", "overlap_ns", "idle_ns", "row_rank"):
        if not results.has(f"{base}/{name}"):
            raise Skip(f"the file has no /{base}/{name}")
    read = {name: results.file[f"{base}/{name}"][:] for name in
            ("bin_edges_ns", "compute_ns", "communication_ns", "overlap_ns", "idle_ns", "row_rank")}
    edges, rank_of = read["bin_edges_ns"], read["row_rank"]
    if read["compute_ns"].size == 0:
        raise Skip("the timeline is empty")
    width = np.diff(edges).astype(float)
    seen = read["compute_ns"] >= 0
    share = {
        "computes": np.where(seen, read["compute_ns"] / width, np.nan),
        "communicates without computing": np.where(seen, (read["communication_ns"] - read["overlap_ns"]) / width, np.nan),
        "stands still": np.where(seen, read["idle_ns"] / width, np.nan),
    }
    means = {name: float(np.nanmean(values)) for name, values in share.items()}
    per_rank = np.nan_to_num(np.nanmean(share["computes"], axis=1))
    panel = look.rank_height(len(rank_of), per_rank=0.11, least=1.5, most=2.8)
    fig, axes = look.figure(3, 1, width=10, height=0.9 + 3 * panel, sharex=True)
    factor, unit = look.duration_unit(float(edges[-1] - edges[0]))
    extent = (0, float(edges[-1] - edges[0]) / factor, len(rank_of) - 0.5, -0.5)
    starts = step_starts(results, iteration, int(edges[0]))
    for ax, (name, values) in zip(axes, share.items()):
        image = look.heat(ax, values, extent, vmax=1.0, how=np.nanmean)
        ax.set_ylabel("rank")
        ax.set_title(f"GPU {name}: {means[name]:.0%} of the time", fontsize=9.5, pad=12 if ax is axes[0] else 4)
        look.label_rows(ax.yaxis, [str(r) for r in rank_of], most=12)
        for step, at in starts:
            ax.axvline(at / factor, color=look.RED, linewidth=0.9, linestyle=":")
    for step, at in starts[::max(1, len(starts) // 20)]:
        axes[0].annotate(str(step), (at / factor, 1), xycoords=("data", "axes fraction"), xytext=(0, 2),
                         textcoords="offset points", fontsize=7)
    axes[-1].set_xlabel(f"time since the first GPU event of the iteration ({unit}; dotted: a step begins, number on top)")
    fig.colorbar(image, ax=axes, label="share of each time bin", shrink=0.6, pad=0.01)
    which = f" (iteration {iteration} of {count})" if count > 1 else ""
    look.title(fig, f"GPUs compute {means['computes']:.0%} of the time{which}{look.spread(rank_of, per_rank)}")
    return fig
