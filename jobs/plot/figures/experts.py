"""Tokens that go to the members of expert-parallel groups, step by step."""
import numpy as np

import look
from results import in_steps, steps_of, summed


def draw(results):
    attributes = results.metric("token_to_expert_assignment")
    rows = in_steps(results.table("metrics/token_to_expert_assignment/by_member", "member", "tokens_count"))
    members, at = np.unique(rows["member"], return_inverse=True)
    steps, column = steps_of(rows)
    cells = at * len(steps) + column
    load = summed(cells, rows["tokens_count"], len(members) * len(steps)).reshape(len(members), len(steps))
    relative = load / np.maximum(load.mean(axis=0), 1e-12)
    fig, ax = look.figure(width=8, height=look.rank_height(len(members)))
    away = max(0.05, float(np.abs(relative - 1).max()))
    image = look.heat(ax, relative, (-0.5, len(steps) - 0.5, len(members) - 0.5, -0.5), cmap="PuOr_r", vmin=1 - away,
                      vmax=1 + away)
    look.label_rows(ax.xaxis, steps, most=24)
    look.label_rows(ax.yaxis, [str(member) for member in members])
    ax.set_xlabel("step (iteration)" if "\n" in steps[0] else "step")
    ax.set_ylabel("rank that holds the experts")
    fig.colorbar(image, ax=ax, label="tokens received / mean of the step (ratio)")
    mean = relative.mean(axis=1)
    worst = int(mean.argmax())
    largest = next((float(attributes[name]) for name in attributes if "max_over_mean" in name or "imbalance" in name),
                   float(mean.max()))
    look.title(fig, f"The fullest rank of an expert-parallel group gets {largest:.2f} × the mean; over all steps rank "
                    f"{members[worst]} gets most ({mean[worst]:.2f} ×), rank {members[int(mean.argmin())]} least "
                    f"({mean.min():.2f} ×)")
    return fig
