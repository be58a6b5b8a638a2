"""Rank x step: the delay a rank causes by being last, with the culprit of each step marked."""
import re

import numpy as np

import look
from results import grid, in_steps

CLEARLY = 1.2


def finding(attributes, ranks, steps, delays, periods):
    total = np.nansum(delays, axis=1)
    worst = int(np.argmax(total))
    per_step = float(total[worst]) / delays.shape[1]
    share = total[worst] / np.nansum(periods) if np.nansum(periods) > 0 else np.nan
    told = int(attributes.get("straggler_rank", -1))
    name = f"rank {ranks[worst]}"
    amount = f"{look.say_ns(per_step)} a step" + (f" ({share:.1%} of the step period)" if np.isfinite(share) else "")
    if told < 0:
        return worst, f"No rank stands out as a straggler; largest: {name}, {amount}"
    lines = delays[worst]
    late = lines > 0.2 * np.nanmax(lines)
    since = int(np.argmax(late))
    when = "" if since == 0 or not late[since:].all() else f", since step {' of iteration '.join(re.findall('[0-9]+', steps[since]))}"
    seen, expected = (int(attributes.get(f"ranks_{what}", 0)) for what in ("covered", "expected"))
    role = "is the straggler" if seen >= expected else f"is last most of the {seen} ranks seen (of {expected})"
    return worst, f"{name[0].upper()}{name[1:]} {role}: it delays the others by {amount}{when}"


def draw(results):
    attributes = results.metric("straggler_lag")
    rows = in_steps(results.table("metrics/straggler_lag/rows", "iteration", "step", "rank", "blame_ns"))
    ranks, steps, delays = grid(rows, "blame_ns")
    periods = np.array([])
    if results.has("metrics/iter_time/rows"):
        periods = np.nanmax(grid(in_steps(results.table("metrics/iter_time/rows")), "period_ns")[2], axis=0)
    worst, text = finding(attributes, ranks, steps, delays, periods)
    factor, unit = look.duration_unit(float(np.nanmax(delays)))
    fig, (ax, side) = look.figure(1, 2, width=9, height=look.rank_height(len(ranks)), sharey=True,
                                  gridspec_kw={"width_ratios": [4, 1]})
    image = look.heat(ax, delays / factor, (-0.5, len(steps) - 0.5, len(ranks) - 0.5, -0.5))
    culprits = np.nanargmax(np.nan_to_num(delays, nan=-1), axis=0)
    second = np.sort(np.nan_to_num(delays), axis=0)[-2] if len(ranks) > 1 else np.zeros(len(steps))
    told = [column for column in range(len(steps)) if delays[culprits[column], column] > CLEARLY * second[column]]
    ax.scatter(told, culprits[told], marker="o", s=28 if len(steps) < 60 else 6, facecolors="none", edgecolors=look.RED,
               linewidths=1.2, label=f"largest of its step, above {CLEARLY} × the second")
    ax.set_xlabel("step" if len(steps[0].split("\n")) == 1 else "step (iteration)")
    ax.set_ylabel("rank")
    look.label_rows(ax.xaxis, steps, most=24)
    look.label_rows(ax.yaxis, ranks)
    if told:
        look.legend_below(ax)
    fig.colorbar(image, ax=ax, label=f"delay it causes ({unit})", pad=0.02)
    totals = np.nansum(delays, axis=1)
    big, big_unit = look.duration_unit(float(totals.max()))
    side.barh(np.arange(len(ranks)), totals / big, height=1.0 if len(ranks) > 64 else 0.7,
              color=[look.RED if row == worst else look.BLUE for row in range(len(ranks))])
    side.text(totals[worst] / big, worst, f" rank {ranks[worst]}", color=look.RED, fontsize=8, va="center")
    side.margins(x=0.35)
    side.set_xlabel(f"sum over steps ({big_unit})")
    look.title(fig, text)
    return fig
