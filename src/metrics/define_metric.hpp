// define_metric<T>(): everything of a metric that does not depend on what it measures. See metric.hpp.
#pragma once
#include <algorithm>
#include <concepts>
#include <functional>
#include <optional>
#include <span>
#include <type_traits>
#include <variant>

#include "core/sort_runs.hpp"

namespace ccl {

/// Sorts by key and folds equal keys with combine. A Row type without combine must have unique keys.
template <class Row>
void sort_and_fold(std::vector<Row>& rows) {
  sort_rows(rows, [](const Row& a, const Row& b) { return a.key() < b.key(); });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if constexpr (requires(Row & into, const Row& from) { into.combine(from); }) {
      if (kept > 0 && rows[kept - 1].key() == rows[i].key()) {
        rows[kept - 1].combine(rows[i]);
        continue;
      }
    }
    if (kept != i) rows[kept] = rows[i];
    ++kept;
  }
  rows.resize(kept);
}

/// The rows of another worker, sorted and folded as these are, to their places: in one pass, and no list but the new one.
template <class Row>
void add_sorted(ByteReader& in, std::vector<Row>& rows) {
  std::vector<Row> all;
  all.reserve(rows.size() + in.array_size());
  const auto add = [&](const Row& row) {
    if constexpr (requires(Row & into, const Row& from) { into.combine(from); }) {
      if (!all.empty() && all.back().key() == row.key()) return all.back().combine(row);
    }
    all.push_back(row);
  };
  auto own = rows.begin();
  in.each<Row>([&](const Row& row) {
    for (; own != rows.end() && !(row.key() < own->key()); ++own) add(*own);
    add(row);
  });
  for (; own != rows.end(); ++own) add(*own);
  rows = std::move(all);
}

/// Rows of one rank that only its closing() reads: they do not go through the merge.
template <class Row>
constexpr bool until_closing = requires { requires Row::until_closing; };

template <class Row>
auto rank_of(const Row& row) {
  return std::tuple(row.step.iteration, row.replica, row.rank);
}
/// Those of one rank. A look through the rows of all ranks for each of them would cost ranks².
template <class Row>
  requires until_closing<Row>
std::span<const Row> rows_of(const std::vector<Row>& rows, const RankEntry& entry) {
  const auto before = [](const auto& a, const auto& b) { return a < b; };
  const auto of_rank = std::ranges::equal_range(rows, std::tuple(entry.iteration, entry.replica, entry.rank), before, rank_of<Row>);
  return {of_rank.begin(), of_rank.end()};
}

/// How many rows a list had when it was last folded.
template <class Row>
struct Folded {
  std::size_t rows_count = 0;
};

/// The row lists of one metric, one per Row type.
template <class... Rows>
struct RowTables {
  std::tuple<std::vector<Rows>...> lists;
  std::tuple<Folded<Rows>...> folded = {};
  template <class Row>
  std::vector<Row>& of() {
    return std::get<std::vector<Row>>(lists);
  }
  template <class Row>
  const std::vector<Row>& of() const {
    return std::get<std::vector<Row>>(lists);
  }
  /// At the end of a closing(): folds once a list has doubled. Folding the rows of all ranks after each rank would
  /// cost ranks², never folding would keep as many rows as there are ranks of keys that all of them share.
  template <class Row>
  void fold_when_doubled() {
    if constexpr (until_closing<Row>) return;
    constexpr std::size_t least_rows = 1024;
    std::size_t& rows_then = std::get<Folded<Row>>(folded).rows_count;
    std::vector<Row>& rows = of<Row>();
    if (rows.size() < 2 * rows_then + least_rows) return;
    sort_and_fold(rows);
    rows_then = rows.size();
  }
  void fold_all_when_doubled() { (fold_when_doubled<Rows>(), ...); }
  template <class F>
  void for_each(F f) {
    std::apply([&](auto&... list) { (f(list), ...); }, lists);
  }
  template <class F>
  void for_each(F f) const {
    std::apply([&](const auto&... list) { (f(list), ...); }, lists);
  }
};

/// Ascending runs of ranks, one of each step, become one list.
inline void sort_unique(std::vector<RankId>& ranks) {
  sort_runs(ranks, std::less<>());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
}
/// Appends the ranks of sorted rows, each once.
template <class Row>
void add_ranks(const std::vector<Row>& rows, std::vector<RankId>& out) {
  std::vector<RankId> ranks;
  for (const Row& row : rows)
    if (ranks.empty() || ranks.back() != row.rank) ranks.push_back(row.rank);
  sort_unique(ranks);
  out.insert(out.end(), ranks.begin(), ranks.end());
}

/// T::Shared, of a metric that has one.
template <class T>
struct SharedOf {
  using Type = std::monostate;
};
template <class T>
  requires requires { typename T::Shared; }
struct SharedOf<T> {
  using Type = typename T::Shared;
};

template <class T>
class DefinedMetric final : public Metric {
 public:
  using Tables = typename T::Tables;
  DefinedMetric() : info_(T::info()) {
    if constexpr (requires { T::matched; }) info_.needs_matching = true;
    if constexpr (requires { T::graph; }) info_.needs_matching = info_.needs_chains = true;
    if constexpr (requires { T::snapshot; }) info_.needs_snapshots = true;
  }
  const MetricInfo& info() const override { return info_; }

  void local(const RankTrace& trace, const LocalContext& context) override {
    if constexpr (requires { T::local; }) {
      Tables batch;
      T::local(trace, context, batch);
      batch.for_each([&](auto& rows) {
        using Row = typename std::remove_reference_t<decltype(rows)>::value_type;
        sort_and_fold(rows);
        counts_.push_back(rows.size());
        auto& into = batches_.template of<Row>();
        if (into.empty()) into = std::move(rows);
        else into.insert(into.end(), rows.begin(), rows.end());
      });
    }
  }

  void snapshot(const MemorySnapshot& snapshot, const LocalContext& context) override {
    if constexpr (requires { T::snapshot; }) T::snapshot(snapshot, context, rows_);
  }

  void settle(std::span<const BatchKey> keys) override {
    std::size_t list = 0;
    batches_.for_each([&](auto& rows) {
      using Row = typename std::remove_reference_t<decltype(rows)>::value_type;
      auto row = rows.begin(), kept = rows.begin();
      for (std::size_t i = list++; i < counts_.size(); i += list_count) {
        const BatchKey& key = keys[i / list_count];
        for (const auto end = row + static_cast<std::ptrdiff_t>(counts_[i]); row != end; ++row) {
          if (!key.keep || (!key.keep_steps && is_of_step(*row))) continue;
          if (kept != row) *kept = *row;
          set_key(*kept++, key);
        }
      }
      rows.erase(kept, rows.end());
      auto& into = rows_.template of<Row>();
      if (into.empty()) into = std::move(rows);
      else into.insert(into.end(), rows.begin(), rows.end());
      if constexpr (until_closing<Row>) std::ranges::stable_sort(into, {}, rank_of<Row>);
    });
    batches_ = {};
    counts_ = {};
  }

  void matched(const MatchedCollectives& collectives, const ClosingContext& context) override {
    if constexpr (requires { T::matched; }) T::matched(collectives, context, rows_);
  }
  void closing(const ClosingRank& rank, const ClosingContext& context) override {
    if constexpr (requires { T::closing(rank, context, rows_); }) {
      T::closing(rank, context, rows_);
    } else if constexpr (requires { T::closing(rank, context, matrices_); }) {
      T::closing(rank, context, matrices_);
    } else if constexpr (requires { T::shared(context); }) {
      if (!shared_) shared_.emplace(T::shared(context));
      if constexpr (requires { T::closing(rank, context, *shared_, rows_); })
        T::closing(rank, context, *shared_, rows_);
      else
        T::closing(rank, context, *shared_, matrices_);
    } else {
      static_assert(!requires { T::closing; }, "closing(rank, context, Tables& or std::vector<ResultMatrix>&), or with Shared");
    }
  }

  void graph(const MeasuredGraph& graph, const ClosingContext& context) override {
    if constexpr (requires { T::graph; }) T::graph(graph, context, rows_);
  }

  std::vector<ResultMatrix> take_matrices() override { return std::move(matrices_); }

  void deal(const Comm& comm) override {
    if constexpr (requires { T::deal(comm, rows_); }) T::deal(comm, rows_);
  }

  std::int64_t rows_bytes() const override {
    std::size_t bytes = 0;
    rows_.for_each([&](const auto& rows) {
      using Row = typename std::remove_reference_t<decltype(rows)>::value_type;
      if constexpr (!until_closing<Row>) bytes += rows.size() * sizeof(Row);
    });
    return static_cast<std::int64_t>(bytes);
  }
  void pack(ByteWriter& out) override {
    rows_.for_each([&](auto& rows) {
      using Row = typename std::remove_reference_t<decltype(rows)>::value_type;
      if constexpr (until_closing<Row>) return;
      static_assert(std::is_trivially_copyable_v<Row>, "rows travel as plain bytes: text goes in as a StringId");
      sort_and_fold(rows);
      out.array(rows);
      rows = std::vector<Row>();  // braces alone would keep its memory
    });
  }
  void absorb(ByteReader& in) override {
    rows_.for_each([&](auto& rows) {
      using Row = typename std::remove_reference_t<decltype(rows)>::value_type;
      if constexpr (until_closing<Row>) return;
      sort_and_fold(rows);
      add_sorted(in, rows);
    });
  }

  MetricResult result(const ReportContext& context, const Resolver& resolver) override {
    MetricResult out;
    out.info = info_;
    std::vector<RankId> covered;
    rows_.for_each([&](auto& rows) {
      using Row = typename std::remove_reference_t<decltype(rows)>::value_type;
      if constexpr (until_closing<Row>) return;
      sort_and_fold(rows);
      if constexpr (requires(const Row& row) { row.rank; }) add_ranks(rows, covered);
      const TableInfo table = Row::table();
      if (table.name.empty()) return;
      out.tables.push_back(make_table(table.name, table.description, Row::columns(resolver), rows));
      out.tables.back().shown = table.shown;
    });
    sort_unique(covered);
    out.report.ranks_covered = static_cast<std::int64_t>(covered.size());
    const std::string phase = context.workload.phase.value.value_or("");
    if (info_.purpose == Purpose::training && phase == "inference")
      out.report.not_applicable("a question about training: the card says phase inference");
    else if (info_.purpose == Purpose::inference && phase == "training")
      out.report.not_applicable("a question about inference: the card says phase training");
    else
      T::report(rows_, context, out.report);
    if (!covered.empty() && out.report.status == Status::ok && out.report.ranks_covered < context.ranks.covered()) {
      out.report.status = Status::partial;
      out.report.reason = std::to_string(out.report.ranks_covered) + " of " + std::to_string(context.ranks.covered()) +
                          " ranks present have a value";
    }
    return out;
  }

 private:
  static constexpr std::size_t list_count = std::tuple_size_v<decltype(Tables::lists)>;
  template <class Row>
  static bool is_of_step(const Row& row) {
    if constexpr (requires { row.step.step; }) return row.step.step != outside_step;
    return false;
  }
  template <class Row>
  static void set_key(Row& row, const BatchKey& key) {
    if constexpr (requires { row.rank = RankId(); }) row.rank = key.rank;
    if constexpr (requires { row.step.iteration = 0; }) row.step.iteration = key.iteration;
    if constexpr (requires { row.step.step = 0; })
      if (row.step.step != outside_step) row.step.step += key.step_shift;
    if constexpr (requires { row.iteration = 0; }) row.iteration = key.iteration;
    if constexpr (requires { row.replica = 0; }) row.replica = key.replica;
  }

  MetricInfo info_;
  Tables batches_;                   // of all local() calls, one behind the other, until settle()
  std::vector<std::size_t> counts_;  // rows of each call in each list
  Tables rows_;
  std::optional<typename SharedOf<T>::Type> shared_;
  std::vector<ResultMatrix> matrices_;
};

template <class T>
std::unique_ptr<Metric> define_metric() {
  return std::make_unique<DefinedMetric<T>>();
}

}  // namespace ccl
