"""What the GPU waits for while it does not compute: communication, launches, copies, dependencies."""
import numpy as np

import look
from results import in_steps, ranks_of, summed

CAUSES = [("blocking_ns", "communication", look.RED, ""), ("launch_starved_ns", "launches by the CPU", look.ORANGE, "///"),
          ("copying_ns", "copies", look.PURPLE, "..."), ("dependency_stalled_ns", "other dependencies", look.GREY, "xxx")]


def draw(results):
    results.metric("blocking_comm")
    rows = in_steps(results.table("metrics/blocking_comm/rows", "rank", "period_ns", *[c[0] for c in CAUSES]))
    ranks, at = ranks_of(rows)
    period = np.maximum(summed(at, rows["period_ns"], len(ranks)), 1)
    shares = [summed(at, np.maximum(rows[name], 0), len(ranks)) / period for name, *_ in CAUSES]
    fig, ax = look.figure(width=9.5, height=3.8)
    x, bottom = np.arange(len(ranks)), np.zeros(len(ranks))
    for share, (_, cause, color, hatch) in zip(shares, CAUSES):
        label = f"{cause}: {share.mean():.1%}"
        if len(ranks) > 96:  # one outline instead of a bar for each rank
            ax.fill_between(np.append(x, len(x)) - 0.5, np.append(bottom, bottom[-1]),
                            np.append(bottom + share, bottom[-1] + share[-1]), step="post", color=color, linewidth=0,
                            label=label)
        else:
            ax.bar(x, share, 0.85, bottom=bottom, color=color, linewidth=0, hatch=hatch, edgecolor="white", label=label)
        bottom = bottom + share
    ax.set_xlim(-0.5, len(ranks) - 0.5)
    ax.set_ylim(0, max(0.05, min(1.0, 1.15 * float(bottom.max()))))
    look.label_rows(ax.xaxis, ranks, most=24)
    ax.set_xlabel("rank")
    ax.set_ylabel("share of the step period without compute (ratio)")
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1), title="waits for, mean over ranks", alignment="left")
    largest = int(np.argmax([share.mean() for share in shares]))
    look.title(fig, f"GPUs do not compute for {bottom.mean():.0%} of a step, "
                    f"{shares[largest].mean() / max(bottom.mean(), 1e-12):.0%} of that because of {CAUSES[largest][1]}{look.spread(ranks, shares[largest])}")
    return fig
