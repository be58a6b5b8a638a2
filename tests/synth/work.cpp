#include "work.hpp"

namespace synth {

const char* text_of(Phase phase) {
  switch (phase) {
    case Phase::forward: return "forward";
    case Phase::backward: return "backward";
    case Phase::weight: return "weight";
    case Phase::recompute: return "recompute";
    case Phase::optimizer: return "optimizer";
    case Phase::other: break;
  }
  return "other";
}

const char* text_of(Collective op) {
  switch (op) {
    case Collective::all_reduce: return "all_reduce";
    case Collective::all_gather: return "all_gather";
    case Collective::reduce_scatter: return "reduce_scatter";
    case Collective::all_to_allv: return "all_to_allv";
    case Collective::send: return "send";
    case Collective::recv: break;
  }
  return "recv";
}

bool is_symmetric(Collective op) { return op != Collective::send && op != Collective::recv; }

}  // namespace synth
