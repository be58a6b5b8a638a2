// Workers that have nothing to do lend their processors to one of their node that has, and sleep meanwhile: threads of
// it run there.
#pragma once
#include <span>
#include <vector>

#include "comm/comm.hpp"
#include "core/processors.hpp"

namespace ccl {

class Lending {
 public:
  /// Collective between owner and lenders, all of one node; what others pass does not matter. Who lends comes back when
  /// the owner's object goes.
  Lending(int owner, const std::vector<int>& lenders, const Comm& comm);
  Lending(const Lending&) = delete;
  Lending& operator=(const Lending&) = delete;
  ~Lending();

  /// Nothing is left to do for this worker.
  bool has_lent() const { return has_lent_; }
  /// At the owner: who lent, those first whose processors are below.
  const std::vector<int>& lenders() const { return lenders_; }
  /// At the owner: one set for each thread beside its own, no more threads than can run at once.
  std::span<const Processors> processors() const { return processors_; }

 private:
  const Comm& comm_;
  bool has_lent_ = false;
  std::vector<int> lenders_;
  std::vector<Processors> processors_;
};

/// Collective. busy: who has work, ascending, alike on all workers. The others lend to those of their node in turn.
Lending lend_to_busy(const std::vector<int>& busy, const Comm& comm);

/// Off: nobody lends, as between nodes. All workers must use the same value.
void lend_processors_for_test(bool lend);

}  // namespace ccl
