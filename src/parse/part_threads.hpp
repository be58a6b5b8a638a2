// Parts of a Kineto trace that threads of this process read, on processors that other workers lend; the parts of workers
// that lend nothing come from those. Parts go from hand to hand, and their memory back.
#pragma once
#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "parse/kineto_part.hpp"
#include "parse/trace_reader.hpp"

namespace ccl {

class PartThreads final : public PartTaker {
 public:
  /// Reads the parts of one reader, options.part, and gives them.
  using ReadParts = std::function<void(const ReadOptions& options, PartGiver& giver, Progress& progress)>;
  /// progress hears of the bytes of the threads when parts are taken. Waits for the threads when it goes.
  PartThreads(const ReadOptions& options, PartTaker& elsewhere, Progress& progress, const ReadParts& read_parts);
  ~PartThreads() override;
  OwnedPart take(int reader) override;
  void give_back(int reader, OwnedPart part) override;
  /// Nothing more is taken. Waits for the threads; throws what one of them threw.
  void finish();

 private:
  class Reader;
  struct Leave {
    void operator()(Reader* reader) const;
  };
  PartTaker& elsewhere_;
  Progress& progress_;
  std::vector<std::unique_ptr<Reader, Leave>> readers_;  // by part; null: not read here
};

}  // namespace ccl
