#include "store/losses.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "core/number_list.hpp"
#include "core/wording.hpp"
#include "discover/natural_order.hpp"
#include "store/plain_text.hpp"

namespace ccl {
namespace {

constexpr std::size_t most_codes = 3, most_detail_bytes = 120;

/// All that one file lost.
struct Loss {
  std::string file;
  std::set<std::int32_t> ranks{};
  Severity severity = Severity::notice;
  bool unpacked = false;         // places are those of the text that comes out of gzip
  std::int64_t count = 0;        // of its warnings
  std::vector<Problem> first{};  // of each code, in the order of /warnings/rows
  std::map<Code, std::int64_t> counts{};
};

/// "it is left out; use --rank-regex": what a code without detail means for the user.
std::string advice_text(Code code) {
  std::string text(info(code).advice);
  const bool acronym = text.size() > 1 && std::isupper(static_cast<unsigned char>(text[1]));
  if (!acronym) text.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(text.front())));
  text.pop_back();
  return text;
}

/// Of these not all rows are kept: what a file has of them is not known whole.
using Capped = std::map<Code, std::int64_t>;  // with the sum over all files

/// `explained`: the codes whose advice an earlier line gives.
std::string code_text(const Loss& loss, const Problem& problem, const Capped& capped, std::set<Code>& explained) {
  const std::int64_t count = loss.counts.at(problem.code);
  std::string text = (capped.contains(problem.code) ? "at least " : "") + (count > 1 ? std::to_string(count) + " " : std::string()) +
                     std::string(info(problem.code).name);
  if (problem.offset >= 0)
    text += (count > 1 ? ", the first at byte " : " at byte ") + std::to_string(problem.offset) +
            (loss.unpacked ? " of the unpacked text" : "");
  if (problem.detail.empty())
    return explained.insert(problem.code).second ? text + " (" + advice_text(problem.code) + ")" : text;
  return text + " (" + problem.detail.substr(0, most_detail_bytes) +
         (problem.detail.size() > most_detail_bytes ? " ...)" : ")");
}

std::string text_of(const Loss& loss, const Capped& capped, std::set<Code>& explained) {
  std::string text;
  if (!loss.ranks.empty())
    text = ranks_text({loss.ranks.begin(), loss.ranks.end()}) + ", ";
  text += (loss.file.empty() ? "no file" : loss.file) + ": ";
  for (std::size_t i = 0; i < loss.first.size() && i < most_codes; ++i)
    text += (i == 0 ? "" : ", ") + code_text(loss, loss.first[i], capped, explained);
  return one_line(loss.first.size() > most_codes ? text + ", ..." : text);
}

/// The line behind those of the first files. more: files; empty: nothing is left to say.
std::string rest_text(std::size_t more, const Capped& capped) {
  if (more == 0 && capped.empty()) return "";
  const std::string files = "and " + std::string(capped.empty() ? "" : "at least ") + counted(more, "more file");
  if (capped.empty()) return files + "; all are in /warnings/rows of the result file";
  std::string codes;
  for (const auto& [code, count] : capped)
    codes += (codes.empty() ? "" : ", ") + std::string(info(code).name) + " (" + std::to_string(count) + " in all)";
  return (more > 0 ? files + "; of " : "of ") + codes + " /warnings/rows of the result file has the first " +
         std::to_string(Problems::rows_per_code) + " rows";
}

}  // namespace

std::vector<std::string> loss_lines(const Results& results, std::size_t most) {
  std::map<std::string, std::set<std::int32_t>> ranks, damaged;
  std::set<std::string> packed;
  for (const TraceFile& file : results.input.files)
    if (file.gzip) packed.insert(file.shown);
  for (const RankEntry& entry : results.ranks.entries)
    if (entry.facts.file >= 0)
      (entry.facts.damaged() ? damaged : ranks)[results.input.files[static_cast<std::size_t>(entry.facts.file)].shown].insert(
          entry.rank.value);
  for (auto& [file, of_file] : damaged) ranks[file] = of_file;  // of the ranks of one file those that lost something
  std::map<std::string, Loss> by_file;
  for (const Problem& row : results.problems.rows()) {
    if (info(row.code).severity == Severity::notice) continue;
    Loss& loss = by_file[row.file];
    loss.file = row.file;
    loss.unpacked = packed.contains(row.file);
    loss.severity = std::max(loss.severity, info(row.code).severity);
    loss.count += row.count;
    if (row.rank >= 0) loss.ranks.insert(row.rank);
    if (loss.counts.emplace(row.code, 0).second) loss.first.push_back(row);
    loss.counts[row.code] += row.count;
  }
  std::map<Code, std::int64_t> kept;
  std::vector<Loss> losses;
  for (auto& [file, loss] : by_file) {
    if (const auto known = ranks.find(file); loss.ranks.empty() && known != ranks.end()) loss.ranks = known->second;
    for (const auto& [code, count] : loss.counts) kept[code] += count;
    losses.push_back(std::move(loss));
  }
  Capped capped;
  for (const auto& [code, count] : kept)
    if (const std::int64_t all = results.problems.count(code); all != count) capped[code] = all;
  std::sort(losses.begin(), losses.end(), [](const Loss& a, const Loss& b) {
    if (a.severity != b.severity) return a.severity > b.severity;
    return a.count != b.count ? a.count > b.count : natural_less(a.file, b.file);
  });
  std::vector<std::string> lines;
  std::set<Code> explained;
  for (std::size_t i = 0; i < losses.size() && i < most; ++i) lines.push_back(text_of(losses[i], capped, explained));
  if (const std::string rest = rest_text(losses.size() - std::min(losses.size(), most), capped); !rest.empty()) lines.push_back(rest);
  return lines;
}

}  // namespace ccl
