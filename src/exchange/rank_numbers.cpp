#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "core/largest_world.hpp"
#include "exchange/rank_rules.hpp"

namespace ccl {
namespace {

/// A trace on its way to a rank number.
struct Claim {
  RankFacts facts;
  RankId rank;
  RankSource source = RankSource::none;
};

Problem problem_of(Code code, const RankFacts& facts, const Input& input, std::string detail) {
  Problem p;
  p.code = code;
  p.iteration = facts.iteration;
  p.file = file_of(facts, input).shown;
  p.detail = std::move(detail);
  return p;
}

/// The world size of most files; tie: the larger.
std::int64_t vote_world_size(const std::vector<RankFacts>& facts) {
  std::map<std::int64_t, std::set<std::int32_t>> files;
  for (const RankFacts& f : facts)
    if (f.world_size > 0 && f.world_size <= largest_world) files[f.world_size].insert(f.file);
  std::int64_t best = -1;
  std::size_t most = 0;
  for (const auto& [size, voters] : files)
    if (voters.size() >= most) {
      best = size;
      most = voters.size();
    }
  return best;
}

/// A number that the run does not have is none: ranks are below `limit`.
std::pair<RankId, RankSource> rank_claimed(const RankFacts& facts, const Input& input, bool name_first, std::int64_t limit) {
  const TraceFile& file = file_of(facts, input);
  const bool name_tells = file.rank_in_name >= 0 && file.rank_in_name < limit;
  if (facts.rank.known() && facts.rank.value < limit && !(name_first && name_tells)) return {facts.rank, facts.rank_source};
  if (name_tells) return {RankId(file.rank_in_name), file.rank_by_option ? RankSource::option : RankSource::file_name};
  return {RankId(), RankSource::none};
}

Claim claim_of(RankFacts facts, const Input& input, bool name_first, std::int64_t limit) {
  const auto [rank, source] = rank_claimed(facts, input, name_first, limit);
  return {std::move(facts), rank, source};
}

/// The world size where more files say it of themselves, and have a rank below it, than there are with a rank at or above.
std::int64_t limit_of_ranks(const std::vector<RankFacts>& facts, const Input& input, bool name_first, std::int64_t world_size) {
  if (world_size <= 0) return largest_world;
  std::int64_t below = 0, above = 0;
  for (const RankFacts& f : facts) {
    if (f.world_size > 0 && f.world_size <= largest_world && f.world_size != world_size) continue;  // of another run
    const RankId rank = rank_claimed(f, input, name_first, INT64_MAX).first;
    if (!rank.known()) continue;
    if (rank.value >= world_size)
      ++above;
    else if (f.world_size == world_size)
      ++below;
  }
  return above < below ? world_size : largest_world;
}

/// Rows are large: only their order is sorted, then each is moved once.
template <class Row, class Key>
void sort_large(std::vector<Row>& rows, Key key) {
  const auto less = [&](const Row* a, const Row* b) { return key(*a) < key(*b); };
  std::vector<Row*> order;
  order.reserve(rows.size());
  for (Row& row : rows) order.push_back(&row);
  if (std::is_sorted(order.begin(), order.end(), less)) return;
  std::sort(order.begin(), order.end(), less);
  std::vector<Row> sorted;
  sorted.reserve(rows.size());
  for (Row* const row : order) sorted.push_back(std::move(*row));
  rows = std::move(sorted);
}

/// What copies of a trace have in common.
struct Content {
  Content(const RankFacts& facts, const Input& input)
      : file(&file_of(facts, input)), fingerprint(facts.fingerprint), events_count(facts.events_count),
        gpu_events_count(facts.gpu_events_count) {}
  bool is_copy_of(const Content& other) const {
    return fingerprint == other.fingerprint && events_count == other.events_count &&
           gpu_events_count == other.gpu_events_count && file->bytes == other.file->bytes && file->gzip == other.file->gzip;
  }
  const TraceFile* file;
  std::uint64_t fingerprint;
  std::int64_t events_count, gpu_events_count;
};

/// Of a rank that both profilers recorded, only PyTorch's trace stays: it says more of each collective. Exports lie
/// beside the iteration folders as often as in them, so one without an iteration stands for all.
void drop_second_profiler(std::vector<RankFacts>& facts, const Input& input, bool name_first, Ranks& ranks,
                          Problems& problems) {
  if (std::ranges::none_of(facts, [&](const RankFacts& f) { return is_nsys(file_of(f, input).format); })) return;
  std::set<std::tuple<std::int32_t, std::int32_t, RankId>> torch;
  constexpr std::int32_t any = INT32_MIN;
  for (const RankFacts& f : facts) {
    if (is_nsys(file_of(f, input).format)) continue;
    const RankId rank = rank_claimed(f, input, name_first, largest_world).first;
    torch.insert({f.iteration, f.replica, rank});
    torch.insert({any, f.replica, rank});
  }
  std::vector<RankFacts> kept;
  std::map<std::pair<std::int32_t, std::string>, std::vector<std::int32_t>> dropped;  // by file
  for (RankFacts& f : facts) {
    const RankId rank = rank_claimed(f, input, name_first, largest_world).first;
    const bool both = is_nsys(file_of(f, input).format) && rank.known() &&
                      torch.contains({f.iteration < 0 ? any : f.iteration, f.replica, rank});
    if (!both) {
      kept.push_back(std::move(f));
      continue;
    }
    dropped[{f.iteration, file_of(f, input).shown}].push_back(rank.value);
    ranks.left_out.push_back(std::move(f));
  }
  facts = std::move(kept);
  for (auto& [file, numbers] : dropped) {
    std::sort(numbers.begin(), numbers.end());
    Problem p;
    p.code = Code::two_profilers;
    p.iteration = file.first;
    p.file = file.second;
    p.count = static_cast<std::int64_t>(numbers.size());
    p.detail = (numbers.size() == 1 ? "rank " : "ranks ") + ranges_text(numbers) + " of it left out";
    problems.add(std::move(p));
  }
}

/// Traces of one (iteration, replica), in natural order of their files.
class Group {
 public:
  Group(std::vector<Claim> claims, std::int64_t limit, const Input& input, Ranks& ranks, Problems& problems)
      : claims_(std::move(claims)), limit_(limit), input_(input), ranks_(ranks), problems_(problems) {}

  void settle() {
    name_only_file();
    drop_unnamed();
    tell_not_believed();
    drop_copies();
    use_names_after_clash();
    drop_duplicates();
    for (Claim& claim : claims_) {
      RankEntry entry;
      entry.iteration = claim.facts.iteration;
      entry.replica = claim.facts.replica;
      entry.rank = claim.rank;
      entry.source = claim.source;
      entry.facts = std::move(claim.facts);
      ranks_.entries.push_back(std::move(entry));
    }
  }

 private:
  void name_only_file() {
    if (claims_.size() != 1 || claims_.front().rank.known()) return;
    claims_.front().rank = RankId(0);
    claims_.front().source = RankSource::only_file;
  }

  /// Drops the claims for which `reason` gives a problem with a code; an absent problem keeps them.
  template <class Judge>
  void drop_if(Judge&& judge) {
    auto kept = claims_.begin();
    for (auto claim = claims_.begin(); claim != claims_.end(); ++claim) {
      if (judge(*claim)) {
        ranks_.left_out.push_back(std::move(claim->facts));
        continue;
      }
      if (kept != claim) *kept = std::move(*claim);
      ++kept;
    }
    claims_.erase(kept, claims_.end());
  }

  void drop_unnamed() {
    drop_if([&](const Claim& claim) {
      if (claim.rank.known()) return false;
      problems_.add(problem_of(Code::no_rank, claim.facts, input_, not_believed_text(claim.facts)));
      return true;
    });
  }

  /// "" where the file says no rank, or one that the run may have.
  std::string not_believed_text(const RankFacts& facts) const {
    if (!facts.rank.known() || facts.rank.value < limit_) return "";
    return "it claims rank " + std::to_string(facts.rank.value) +
           (limit_ < largest_world ? " of a run of " + std::to_string(limit_) : ", more than any run has");
  }

  void tell_not_believed() {
    for (const Claim& claim : claims_) {
      std::string detail = not_believed_text(claim.facts);
      if (detail.empty()) continue;
      Problem p = problem_of(Code::rank_from_name_after_clash, claim.facts, input_, std::move(detail));
      p.rank = claim.rank.value;
      problems_.add(std::move(p));
    }
  }

  void drop_copies() {
    std::map<RankId, std::vector<Content>> seen;
    drop_if([&](const Claim& claim) {
      std::vector<Content>& same = seen[claim.rank];
      const Content content(claim.facts, input_);
      for (const Content& other : same) {
        if (!content.is_copy_of(other)) continue;
        // Two copies of one trace are no loss, but for one that stands where another rank's should be.
        const TraceFile &kept = *other.file, &copy = *content.file;
        if (kept.rank_in_name >= 0 && copy.rank_in_name >= 0 && kept.rank_in_name != copy.rank_in_name)
          add_duplicate(claim, "the same content as " + kept.shown);
        return true;
      }
      same.push_back(content);
      return false;
    });
  }

  void add_duplicate(const Claim& claim, std::string detail) {
    Problem p = problem_of(Code::duplicate_rank, claim.facts, input_, std::move(detail));
    p.rank = claim.rank.value;
    problems_.add(std::move(p));
  }

  void use_names_after_clash() {
    std::map<RankId, int> claimed;
    for (const Claim& claim : claims_) ++claimed[claim.rank];
    std::set<std::int32_t> numbers;
    bool fits = true;
    bool any = false;
    for (const Claim& claim : claims_) {
      const bool clash = claimed[claim.rank] > 1;
      any = any || clash;
      const std::int32_t number = clash ? file_of(claim.facts, input_).rank_in_name : claim.rank.value;
      fits = fits && number >= 0 && number < limit_ && numbers.insert(number).second;
    }
    if (!any || !fits) return;
    for (Claim& claim : claims_) {
      if (claimed[claim.rank] < 2) continue;
      const std::int32_t inside = claim.rank.value;
      claim.rank = RankId(file_of(claim.facts, input_).rank_in_name);
      claim.source = RankSource::name_after_clash;
      Problem p = problem_of(Code::rank_from_name_after_clash, claim.facts, input_,
                             "it claims rank " + std::to_string(inside) + " as another file does");
      p.rank = claim.rank.value;
      problems_.add(std::move(p));
    }
  }

  void drop_duplicates() {
    std::map<RankId, std::string> first;
    drop_if([&](const Claim& claim) {
      const auto [at, added] = first.try_emplace(claim.rank, file_of(claim.facts, input_).shown);
      if (added) return false;
      add_duplicate(claim, "used instead: " + at->second);
      return true;
    });
  }

  std::vector<Claim> claims_;
  std::int64_t limit_;
  const Input& input_;
  Ranks& ranks_;
  Problems& problems_;
};

}  // namespace

const TraceFile& file_of(const RankFacts& facts, const Input& input) {
  static const TraceFile nameless;
  const auto at = static_cast<std::size_t>(facts.file);
  return facts.file >= 0 && at < input.files.size() ? input.files[at] : nameless;
}

void settle_rank_numbers(std::vector<RankFacts> facts, const Input& input, const Config& config, Ranks& ranks,
                         Problems& problems) {
  sort_large(facts, [](const RankFacts& f) { return std::tie(f.file, f.rank, f.devices, f.fingerprint, f.local, f.worker); });
  drop_second_profiler(facts, input, config.input.rank_from_name, ranks, problems);
  ranks.world_size = vote_world_size(facts);
  const std::int64_t limit = limit_of_ranks(facts, input, config.input.rank_from_name, ranks.world_size);
  std::map<std::pair<std::int32_t, std::int32_t>, std::vector<Claim>> groups;
  for (RankFacts& f : facts) {
    if (f.world_size > largest_world) {
      problems.add(problem_of(Code::size_limit, f, input,
                              "a world size of " + std::to_string(f.world_size) + " is more than any run has, and is not used"));
      f.world_size = -1;
    }
    if (ranks.world_size > 0 && f.world_size > 0 && f.world_size != ranks.world_size) {
      problems.add(problem_of(Code::other_world_size, f, input,
                              "its world size is " + std::to_string(f.world_size) + ", that of the others " +
                                  std::to_string(ranks.world_size)));
      ranks.left_out.push_back(std::move(f));
      continue;
    }
    groups[{f.iteration, f.replica}].push_back(claim_of(std::move(f), input, config.input.rank_from_name, limit));
  }
  for (auto& [key, claims] : groups) Group(std::move(claims), limit, input, ranks, problems).settle();
  sort_large(ranks.entries, [](const RankEntry& e) { return std::tie(e.iteration, e.replica, e.rank); });
  // A size that a rank of the run contradicts is none.
  if (std::any_of(ranks.entries.begin(), ranks.entries.end(),
                  [&](const RankEntry& e) { return e.rank.value >= ranks.world_size; }))
    ranks.world_size = -1;
  std::sort(ranks.left_out.begin(), ranks.left_out.end(), [](const RankFacts& a, const RankFacts& b) {
    return std::tie(a.file, a.rank, a.local) < std::tie(b.file, b.rank, b.local);
  });
}

}  // namespace ccl
