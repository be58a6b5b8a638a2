"""One figure per file: draw(results) gives a figure with its finding as title, or raises Skip with the reason.
A new figure needs a file and its name here; the order is that of the report."""
ORDER = ["utilisation", "straggler_steps", "blame_matrix", "lag_groups", "step_series", "overlap", "phases",
         "microbatch_overlap", "stage_overlap", "traffic", "traffic_matrix", "bandwidth", "pipeline_stages",
         "pipeline_gantt", "pipeline_replica", "critical_path", "what_if", "efficiency", "waiting", "kernels", "memory",
         "memory_steps", "experts"]
