// Parts of a Kineto trace that threads of this process read, on processors that other workers lend; the parts of workers
// that lend nothing come from those.
#pragma once
#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "parse/trace_reader.hpp"

namespace ccl {

class PartThreads final : public PartExchange {
 public:
  /// Reads one part and gives its parcels: options.part and options.parts are set for it.
  using ReadPart = std::function<void(const ReadOptions& options, Progress& progress)>;
  /// progress hears of the bytes of the threads when parcels are taken. Waits for the threads when it goes.
  PartThreads(const ReadOptions& options, Progress& progress, const ReadPart& read_part);
  ~PartThreads() override;
  void give(Bytes) override {}
  Bytes take(int number) override;
  /// Waits for the threads; throws what one of them threw.
  void finish();

 private:
  class Reader;
  struct Leave {
    void operator()(Reader* reader) const;
  };
  PartExchange& elsewhere_;
  Progress& progress_;
  std::vector<std::unique_ptr<Reader, Leave>> readers_;  // by part; null: not read here
};

}  // namespace ccl
