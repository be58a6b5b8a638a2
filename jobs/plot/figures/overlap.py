"""What a step's time goes to on each rank: compute, hidden and exposed communication, copies, idle."""
import numpy as np

import look
from results import in_steps, ranks_of, summed

PARTS = [("compute_only_ns", "compute alone", "compute"), ("overlap_ns", "communication under compute", "overlap"),
         ("exposed_ns", "exposed communication", "exposed"), ("memory_only_ns", "copies alone", "memory"),
         ("idle_ns", "idle within the step", "idle")]


def draw(results):
    attributes = results.metric("comm_comp_overlap")
    rows = in_steps(results.table("metrics/comm_comp_overlap/rows", "rank", "period_ns", "gap_ns",
                                  *[part[0] for part in PARTS]))
    ranks, at = ranks_of(rows)
    period = summed(at, rows["period_ns"], len(ranks))
    shares = [summed(at, rows[name], len(ranks)) / np.maximum(period, 1) for name, _, _ in PARTS]
    shares.append(summed(at, rows["gap_ns"], len(ranks)) / np.maximum(period, 1))
    fig, ax = look.figure(width=9.5, height=4.2)
    x, bottom = np.arange(len(ranks)), np.zeros(len(ranks))
    many = len(ranks) > 96
    for share, (_, name, state) in zip(shares, PARTS + [("", "idle before the step", "gap")]):
        style = {"label": f"{name}: {share.mean():.1%}", "linewidth": 0,
                 "color": look.STATES.get(state, "#E4E4E4")}
        if many:
            ax.fill_between(np.append(x, len(x)) - 0.5, np.append(bottom, bottom[-1]),
                            np.append(bottom + share, bottom[-1] + share[-1]), step="post", **style)
        else:
            ax.bar(x, share, 0.85, bottom=bottom, **style)
        bottom = bottom + share
    ax.set_xlim(-0.5, len(ranks) - 0.5)
    ax.set_ylim(0, 1)
    look.label_rows(ax.xaxis, ranks, most=24)
    ax.set_xlabel("rank")
    ax.set_ylabel("share of the step period (ratio)")
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), title="mean over ranks", alignment="left")
    exposed = shares[2]
    look.title(fig, f"{float(attributes.get('overlap_ratio', np.nan)):.0%} of communication is hidden behind compute; "
                    f"exposed communication takes {exposed.mean():.0%} of a step{look.spread(ranks, exposed)}")
    return fig
