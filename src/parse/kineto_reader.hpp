// Reads PyTorch Kineto traces (Chrome trace JSON), plain or gzip, in fixed windows. In: a TraceFile. Out: one finished
// RankTrace, and the problems of its content. The windows and tables are kept for the next file. A large plain file can
// be read by several readers, each ranges of its bytes (kineto_ranges.cpp).
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "parse/kineto_part.hpp"
#include "parse/range_turns.hpp"
#include "parse/trace_reader.hpp"

namespace ccl {

class KinetoReader final : public TraceReader {
 public:
  /// An event or header value above the limit is passed over (size_limit); it bounds the memory of a window.
  static constexpr std::size_t default_limit_bytes = std::size_t{256} << 20;
  /// What one of several readers of a file reads at a time.
  static constexpr std::int64_t default_range_bytes = std::int64_t{8} << 20;
  explicit KinetoReader(std::size_t limit_bytes = default_limit_bytes, InflateBackend inflate = InflateBackend::best,
                        SplitLevel level = best_split_level(), std::int64_t range_bytes = default_range_bytes)
      : limit_bytes_(limit_bytes), range_bytes_(range_bytes), inflate_(inflate), level_(level) {}

  void read(const TraceFile& file, const ReadOptions& options, Problems& problems, Progress& progress,
            const TraceSink& sink) override;

 private:
  enum class ScanEnd : std::uint8_t { of_file, of_range };
  static std::size_t window_bytes(const ReadOptions& options);
  static ScanOutcome scan(ByteSource& source, KinetoScan& scan, ScanEnd end, Progress& progress);
  ScanOutcome scan_file(const TraceFile& file, const ReadOptions& options, KinetoBuilder& builder, TraceHeader& header,
                        Progress& progress);
  ScanOutcome scan_range(const TraceFile& file, FileRange range, const ReadOptions& options, KinetoBuilder& builder,
                         TraceHeader& header, Progress& progress);
  class FileCut;
  /// Later parts: scanned and given to the reader of the first.
  void give_parts(const TraceFile& file, const ReadOptions& options, PartGiver& giver, Progress& progress);
  void give_ranges(const TraceFile& file, const FileCut& cut, const ReadOptions& options, RangeTurns& turns, PartGiver& giver,
                   Progress& progress);
  /// The first part and others: scanned and joined by those that come. Nothing if the ranges did not fit together: the builder is of no
  /// use then, and the whole file must be read.
  std::optional<ScanOutcome> take_parts(const TraceFile& file, const ReadOptions& options, KinetoBuilder& builder,
                                        TraceHeader& header, Progress& progress);
  std::optional<ScanOutcome> join_parts(const TraceFile& file, const FileCut& cut, const ReadOptions& options, RangeTurns& turns,
                                        PartTaker& parts, KinetoBuilder& builder, TraceHeader& header, Progress& progress);

  std::size_t limit_bytes_;
  std::int64_t range_bytes_;
  InflateBackend inflate_;
  SplitLevel level_;
  std::optional<SourceMemory> source_memory_{std::in_place};
  KinetoMemory memory_;
};

}  // namespace ccl
