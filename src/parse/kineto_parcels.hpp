// Parts of a Kineto file on their way from worker to worker: one parcel with the small tables, then the GPU events and
// launches in parcels of bounded size, column by column in few bytes.
#pragma once
#include <vector>

#include "parse/kineto_part.hpp"

namespace ccl {

class PartSender final : public PartGiver {
 public:
  explicit PartSender(PartExchange& parts) : parts_(parts) {}
  PartSender(const PartSender&) = delete;
  PartSender& operator=(const PartSender&) = delete;
  /// Nobody waits for what was not given.
  ~PartSender() override;
  OwnedPart give(OwnedPart part) override;

 private:
  PartExchange& parts_;
  bool last_told_ = false;
};

class PartReceiver final : public PartTaker {
 public:
  explicit PartReceiver(const ReadOptions& options)
      : options_(options), over_(static_cast<std::size_t>(options.part.count)) {}
  PartReceiver(const PartReceiver&) = delete;
  PartReceiver& operator=(const PartReceiver&) = delete;
  /// Takes what is left: the others wait until it is.
  ~PartReceiver() override;
  /// Nothing comes of these.
  void skip(const std::vector<int>& readers);
  OwnedPart take(int reader) override;
  void give_back(int reader, OwnedPart part) override;

 private:
  Bytes take_parcel();
  void finish_part();

  const ReadOptions& options_;
  std::vector<bool> over_;  // by reader
  int reader_ = 0;
  std::uint64_t left_ = 0;  // parcels of its part
  OwnedPart spare_;
};

}  // namespace ccl
