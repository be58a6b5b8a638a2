// Answers to a question about names, kept over the traces of a worker: the ranks of a run use the same names, and asking
// regular expressions anew in every trace was a third of the CPU time of thousands of small ones.
#pragma once
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace ccl {

/// Several threads may ask at once.
template <class Answer>
class NameAnswers {
 public:
  /// What ask(name) says, which depends on the name alone.
  template <class Ask>
  Answer get(std::string_view name, const Ask& ask) const {
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = answers_.find(name); known != answers_.end()) return known->second;
    }
    const Answer answer = ask(name);
    if (name.size() > longest_name) return answer;
    const std::lock_guard lock(mutex_);
    if ((bytes_ += name.size() + entry_bytes) > most_bytes) {  // names with numbers of their own: few will be asked again
      answers_.clear();
      bytes_ = name.size() + entry_bytes;
    }
    answers_.try_emplace(std::string(name), answer);
    return answer;
  }

 private:
  static constexpr std::size_t most_bytes = std::size_t{1} << 20, entry_bytes = 80, longest_name = 2000;
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
  };
  mutable std::mutex mutex_;
  mutable std::unordered_map<std::string, Answer, Hash, std::equal_to<>> answers_;
  mutable std::size_t bytes_ = 0;  // about, of answers_
};

}  // namespace ccl
