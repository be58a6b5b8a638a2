// NCCL's NVTX ranges as NCCL 2.27 emits them: one per call, in a group for what is made of sends and receives, each
// with communicator and message size in a binary payload.
#pragma once
#include "clocks.hpp"
#include "nsys_database.hpp"
#include "work.hpp"

namespace synth {

constexpr std::int64_t nccl_domain = 1;

/// Domain and payload schemas; once per process, as nsys repeats them.
void describe_nccl(NsysDatabase& database, std::int64_t thread, std::int64_t start);

/// One process on one thread at a time.
class NcclRanges {
 public:
  NcclRanges(const Job& job, const Topology& topology, const JobRun& run, int rank, NsysDatabase& database)
      : job_(job), topology_(topology), run_(run), rank_(rank), database_(database) {}

  /// ncclCommInitRankConfig of every communicator of the rank, in [start, end).
  void initialise(std::int64_t thread, std::int64_t start, std::int64_t end);
  /// The call around one launch; start and end enclose it.
  void call(const Op& op, std::int64_t thread, std::int64_t start, std::int64_t end);

 private:
  std::int64_t communicator(int group) const;
  void range(const char* text, std::int64_t thread, std::int64_t start, std::int64_t end, const SqlBlob* payload);
  void message(const char* text, int schema, int group, std::int64_t bytes, int last, std::int64_t thread,
               std::int64_t start, std::int64_t end);

  const Job& job_;
  const Topology& topology_;
  const JobRun& run_;
  const int rank_;
  NsysDatabase& database_;
};

}  // namespace synth
