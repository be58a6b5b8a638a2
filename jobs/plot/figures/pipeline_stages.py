"""Share of the pipeline's window in which a stage has nothing to do, by stage and step."""
import numpy as np

import look
from results import in_steps, steps_of, summed


def draw(results):
    attributes = results.metric("pipeline_bubble")
    rows = in_steps(results.table("metrics/pipeline_bubble/rows", "stage", "window_ns", "bubble_ns", "pp_wait_ns"))
    stages, at = np.unique(rows["stage"], return_inverse=True)
    window = np.maximum(summed(at, rows["window_ns"], len(stages)), 1)
    wait = summed(at, rows["pp_wait_ns"], len(stages)) / window
    bubble = summed(at, rows["bubble_ns"], len(stages)) / window
    steps, column = steps_of(rows)
    cells = at * len(steps) + column
    matrix = summed(cells, rows["bubble_ns"], len(stages) * len(steps)) / np.maximum(
        summed(cells, rows["window_ns"], len(stages) * len(steps)), 1)
    fig, (ax, side) = look.figure(1, 2, width=9.5, height=look.rank_height(len(stages), 0.32), sharey=True)
    y = np.arange(len(stages))
    ax.barh(y, wait, color=look.RED, label="inside pipeline kernels (waiting)")
    ax.barh(y, bubble - wait, left=wait, color=look.GREY, hatch="...", edgecolor="white", linewidth=0, label="idle")
    ideal = {name: float(attributes[name]) for name in attributes
             if name.startswith("ideal_") and name.endswith("_ratio")}
    for name, value in ideal.items():
        ax.axvline(value, color="black", linestyle="--", linewidth=1,
                   label=f"ideal of {name[6:-6].upper()}: {value:.1%}")
    ax.set_yticks(y, [str(stage) for stage in stages])
    ax.set_ylim(len(stages) - 0.5, -0.5)
    ax.set_ylabel("stage of the pipeline")
    ax.set_xlabel("bubble / window (ratio), all steps")
    look.legend_below(ax)
    image = look.heat(side, matrix.reshape(len(stages), len(steps)), (-0.5, len(steps) - 0.5, len(stages) - 0.5, -0.5))
    look.label_rows(side.xaxis, steps, most=16)
    side.set_xlabel("step (iteration)" if "\n" in steps[0] else "step")
    fig.colorbar(image, ax=side, label="bubble / window (ratio)")
    total = float(attributes.get("bubble_ratio", np.nan))
    text = f"Pipeline stages have nothing to do {total:.0%} of the time"
    if ideal:
        text += f" (ideal {min(ideal.values()):.0%})"
    look.title(fig, text + f"; most on stage {stages[int(bubble.argmax())]} ({bubble.max():.0%}), least on stage "
                           f"{stages[int(bubble.argmin())]} ({bubble.min():.0%})")
    return fig
