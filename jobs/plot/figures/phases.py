"""Forward, recompute, backward, optimizer: their GPU time, and how much of it computes."""
import numpy as np

import look
from results import in_steps, ranks_of, summed

ORDER = ["forward", "recompute", "backward", "grad_clip", "optimizer", "other"]


def draw(results):
    results.metric("training_phases")
    rows = in_steps(results.table("metrics/training_phases/by_phase", "phase", "union_ns", "compute_ns"))
    whole = in_steps(results.table("metrics/training_phases/rows", "rank", "period_ns"))
    ranks, at_whole = ranks_of(whole)
    period = np.maximum(summed(at_whole, whole["period_ns"], len(ranks)), 1)
    known = list(dict.fromkeys([p for p in ORDER if p in rows["phase"]] + sorted(set(rows["phase"]))))
    union, compute = np.zeros((len(known), len(ranks))), np.zeros((len(known), len(ranks)))
    place = {label: row for row, label in enumerate(ranks)}
    for index, phase in enumerate(known):
        part = rows[rows["phase"] == phase]
        labels, at = ranks_of(part)
        target = [place[label] for label in labels if label in place]
        if len(target) == len(labels):
            union[index, target] = summed(at, part["union_ns"], len(labels)) / period[target]
            compute[index, target] = summed(at, part["compute_ns"], len(labels)) / period[target]
    shown = [index for index in range(len(known)) if union[index].max() > 0.001] or [0]
    known, union, compute = [known[index] for index in shown], union[shown], compute[shown]
    fig, (ax, by_rank) = look.figure(2, 1, width=9, height=2.8 + 0.62 * len(known))
    y = np.arange(len(known))
    ax.barh(y, compute.mean(1), color=look.BLUE, label="computing")
    ax.barh(y, (union - compute).mean(1), left=compute.mean(1), color=look.RED, hatch="///", edgecolor="white",
            linewidth=0, label="only communicating or copying")
    ax.errorbar(union.mean(1), y, xerr=[union.mean(1) - union.min(1), union.max(1) - union.mean(1)], fmt="none",
                ecolor="black", elinewidth=1, capsize=3, label="least to most over ranks")
    ax.set_xlabel("share of the step period, mean over ranks (phases overlap on the GPU: no sum of 1)")
    look.legend_below(ax, ncols=3)
    image = look.heat(by_rank, union, (-0.5, len(ranks) - 0.5, len(known) - 0.5, -0.5), vmax=None)
    look.label_rows(by_rank.xaxis, ranks, most=24)
    by_rank.set_xlabel("rank")
    for axis in (ax, by_rank):
        axis.set_yticks(y, known)
        axis.set_ylabel("phase")
    ax.invert_yaxis()
    fig.colorbar(image, ax=by_rank, label="share of the step (ratio)", pad=0.01)
    largest = int(union.mean(1).argmax())
    waits = (union - compute)[largest].mean() / max(union[largest].mean(), 1e-12)
    text = f"{known[largest].capitalize()} takes {union[largest].mean():.0%} of a step{look.spread(ranks, union[largest])}" \
           f" and does not compute for {waits:.0%} of that"
    look.title(fig, text)
    return fig
