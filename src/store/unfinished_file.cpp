#include "store/unfinished_file.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <utility>

namespace ccl {
namespace {

std::array<std::atomic<const char*>, 4> unfinished{};
static_assert(std::atomic<const char*>::is_always_lock_free);

void exchange_one(const char* from, const char* to) {
  for (std::atomic<const char*>& one : unfinished)
    if (const char* expected = from; one.compare_exchange_strong(expected, to)) return;
}

}  // namespace

UnfinishedFile::UnfinishedFile(std::string path) : path_(std::move(path)) { exchange_one(nullptr, path_.c_str()); }
UnfinishedFile::~UnfinishedFile() { exchange_one(path_.c_str(), nullptr); }

void remove_unfinished_files() noexcept {
  for (const std::atomic<const char*>& one : unfinished)
    if (const char* path = one.load()) unlink(path);
}

}  // namespace ccl
