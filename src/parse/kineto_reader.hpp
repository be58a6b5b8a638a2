// Reads PyTorch Kineto traces (Chrome trace JSON), plain or gzip, in fixed windows. In: a TraceFile. Out: one finished
// RankTrace, and the problems of its content. The windows and tables are kept for the next file.
#pragma once
#include "parse/byte_source.hpp"
#include "parse/kineto_build.hpp"
#include "parse/kineto_scan.hpp"
#include "parse/trace_reader.hpp"

namespace ccl {

class KinetoReader final : public TraceReader {
 public:
  /// An event or header value above the limit is passed over (size_limit); it bounds the memory of a window.
  static constexpr std::size_t default_limit_bytes = std::size_t{256} << 20;
  explicit KinetoReader(std::size_t limit_bytes = default_limit_bytes, InflateBackend inflate = InflateBackend::best,
                        SplitLevel level = best_split_level())
      : limit_bytes_(limit_bytes), inflate_(inflate), level_(level) {}

  void read(const TraceFile& file, const ReadOptions& options, Problems& problems, Progress& progress,
            const TraceSink& sink) override;

 private:
  std::size_t limit_bytes_;
  InflateBackend inflate_;
  SplitLevel level_;
  SourceMemory source_memory_;
  KinetoMemory memory_;
};

}  // namespace ccl
