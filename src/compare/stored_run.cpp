#include "compare/stored_run.hpp"

#include <yaml-cpp/yaml.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "config/values.hpp"
#include "core/kinds.hpp"
#include "core/problems.hpp"
#include "exchange/coverage.hpp"

namespace ccl {
namespace {

constexpr std::int64_t known_schema = 1;

template <class T>
T value_at(const Bytes& bytes, std::size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

std::map<std::string, AttributeValue> by_name(const std::vector<NamedAttribute>& attributes) {
  return {attributes.begin(), attributes.end()};
}

/// JSON is YAML. An attribute that is neither tells nothing.
YAML::Node parsed(const std::string& json) {
  try {
    return YAML::Load(json);
  } catch (const YAML::Exception&) {
    return {};
  }
}

std::map<std::string, std::int64_t> absent_values(const InputFile& file, const std::string& path) {
  std::map<std::string, std::int64_t> all;
  for (const auto& [name, value] : file.attributes(path)) {
    if (name != "absent_value" || !std::holds_alternative<std::string>(value)) continue;
    for (const auto& entry : parsed(std::get<std::string>(value)))
      all[entry.first.as<std::string>()] = entry.second.as<std::int64_t>(-1);
  }
  return all;
}

}  // namespace

StoredTable::StoredTable(const InputFile& file, const std::string& path)
    : StoredTable(file.table(path), absent_values(file, path)) {}

StoredTable::StoredTable(ResultTable rows, std::map<std::string, std::int64_t> absent)
    : table_(std::move(rows)), absent_(std::move(absent)) {}

bool StoredTable::has(const std::string& column) const {
  for (const ColumnInfo& info : table_.columns)
    if (info.name == column) return true;
  return false;
}

bool StoredTable::is_number(const std::string& column) const {
  for (const ColumnInfo& info : table_.columns)
    if (info.name == column) return info.type != CellType::text;
  return false;
}

std::vector<std::string> StoredTable::number_columns() const {
  const std::set<std::string> keys{"iteration", "step", "rank", "device", "replica", "stage", "pipeline"};
  std::vector<std::string> names;
  for (const ColumnInfo& info : table_.columns)
    if (info.type != CellType::text && keys.count(info.name) == 0) names.push_back(info.name);
  return names;
}

std::vector<double> StoredTable::numbers(const std::string& column) const {
  std::vector<double> values(static_cast<std::size_t>(table_.rows_count), std::numeric_limits<double>::quiet_NaN());
  const auto absent = absent_.find(column);
  std::size_t offset = 0;
  for (const ColumnInfo& info : table_.columns) {
    if (info.name != column || info.type == CellType::text) {
      offset += info.width;
      continue;
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t at = i * table_.row_bytes() + offset;
      if (info.type == CellType::float64) {
        values[i] = value_at<double>(table_.packed, at);
        continue;
      }
      const std::int64_t value = info.type == CellType::int64   ? value_at<std::int64_t>(table_.packed, at)
                                 : info.type == CellType::int32 ? value_at<std::int32_t>(table_.packed, at)
                                                                : value_at<std::int8_t>(table_.packed, at);
      if (absent == absent_.end() || value != absent->second) values[i] = static_cast<double>(value);
    }
    break;
  }
  return values;
}

std::vector<std::string> StoredTable::texts(const std::string& column) const {
  std::vector<std::string> all;
  all.reserve(static_cast<std::size_t>(table_.rows_count));
  for (std::int64_t row = 0; row < table_.rows_count; ++row) {
    const Cell cell = cell_at(table_, row, column);
    if (const auto* text = std::get_if<std::string>(&cell))
      all.push_back(*text);
    else if (const auto* integer = std::get_if<std::int64_t>(&cell))
      all.push_back(std::to_string(*integer));
    else
      all.push_back(number_text(std::get<double>(cell)));
  }
  return all;
}

StoredRun::StoredRun(const std::string& path) : path_(path), file_(path), root_(by_name(file_.attributes("/"))) {
  if (root_text("completeness").empty() || !file_.exists("/ranks") || !file_.exists("/steps"))
    throw bad_request(path, "not a result file of ccl-analyze");
  if (root_integer("schema_version") != known_schema)
    throw bad_request(path, "schema " + std::to_string(root_integer("schema_version")) + ", this program reads " +
                                std::to_string(known_schema));
  for (const auto& entry : parsed(root_text("config"))) {
    const YAML::Node value = entry.second;
    request_[entry.first.as<std::string>()] = value.IsScalar() ? value.Scalar() : YAML::Dump(value);
  }
  if (has_table("/workload")) {
    const StoredTable rows = table("/workload");
    const std::vector<std::string> names = rows.texts("name"), values = rows.texts("value");
    for (std::size_t i = 0; i < names.size(); ++i) workload_[names[i]] = values[i];
  }
  const StoredTable steps = table("/steps");
  const std::vector<double> iteration = steps.numbers("iteration"), step = steps.numbers("step");
  const std::vector<double> shift = steps.numbers("step_shift"), gpu_start_ns = steps.numbers("gpu_start_ns"),
                            step_rank = steps.numbers("rank"), step_replica = steps.numbers("replica");
  const std::vector<std::string> sources = steps.texts("source");
  std::set<std::pair<double, double>> distinct;
  for (std::size_t i = 0; i < step.size(); ++i) {
    const auto known = [](double value) { return std::isnan(value) ? -1 : value; };
    distinct.emplace(known(iteration[i]), step[i]);
    if (!std::isnan(gpu_start_ns[i]))
      ranks_by_step_[{known(iteration[i]), step[i] + shift[i]}].emplace(known(step_replica[i]), known(step_rank[i]));
    has_markers_ = has_markers_ || sources[i] != "span";
  }
  steps_count_ = static_cast<std::int64_t>(distinct.size());
  const StoredTable ranks = table("/ranks");
  const std::vector<std::string> gpus = ranks.texts("gpu");
  for (const std::string& gpu : std::set<std::string>(gpus.begin(), gpus.end()))
    if (!gpu.empty()) gpu_ += (gpu_.empty() ? "" : ", ") + gpu;
  const std::vector<double> numbers = ranks.numbers("rank");
  const std::vector<std::string> statuses = ranks.texts("status");
  // How much a cut file lost is not known: only the warning tells of it.
  const std::vector<std::string> files = ranks.texts("file");
  std::set<std::string> damaged_files;
  if (has_table("/warnings/rows")) {
    const StoredTable warnings = table("/warnings/rows");
    const std::vector<std::string> severities = warnings.texts("severity"), named = warnings.texts("file");
    for (std::size_t i = 0; i < named.size(); ++i)
      if (severities[i] != to_text(Severity::notice)) damaged_files.insert(named[i]);
  }
  std::map<std::int32_t, std::string> worst;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const bool whole = statuses[i] == to_text(RankStatus::ok);
    std::string& status = worst.emplace(static_cast<std::int32_t>(numbers[i]), statuses[i]).first->second;
    if (damaged_files.contains(files[i]))
      status = to_text(RankStatus::partial);
    else if (!whole)
      status = statuses[i];
  }
  const std::vector<double> dumps = ranks.numbers("iteration"), replicas = ranks.numbers("replica");
  std::vector<RankInDump> present;
  const auto known = [](double value) { return std::isnan(value) ? -1 : static_cast<std::int32_t>(value); };
  for (std::size_t i = 0; i < numbers.size(); ++i) present.push_back({known(dumps[i]), known(replicas[i]), known(numbers[i])});
  // Such a rank is judged in a part of the run only.
  for (const RankInDump& gap : not_in_dump(present))
    if (std::string& status = worst[gap.rank]; status == to_text(RankStatus::ok)) status = "not_in_iteration";
  for (const auto& [rank, status] : worst) ranks_by_status_[status].push_back(rank);
  for (std::int32_t rank = 0; rank < root_integer("ranks_expected"); ++rank)
    if (!worst.contains(rank)) ranks_by_status_["missing"].push_back(rank);
}

std::string StoredRun::root_text(const std::string& name) const {
  const auto found = root_.find(name);
  return found != root_.end() && std::holds_alternative<std::string>(found->second)
             ? std::get<std::string>(found->second)
             : "";
}

std::int64_t StoredRun::root_integer(const std::string& name) const {
  const auto found = root_.find(name);
  return found != root_.end() && std::holds_alternative<std::int64_t>(found->second)
             ? std::get<std::int64_t>(found->second)
             : -1;
}

std::string StoredRun::workload(const std::string& name) const {
  const auto found = workload_.find(name);
  return found == workload_.end() ? "" : found->second;
}

std::string StoredRun::request(const std::string& key) const {
  const auto found = request_.find(key);
  return found == request_.end() ? "" : found->second;
}

std::vector<std::string> StoredRun::metrics() const {
  constexpr std::string_view above = "/metrics/";
  std::vector<std::string> names;
  for (const StoredObject& object : file_.objects())
    if (object.is_group && object.path.starts_with(above)) names.push_back(object.path.substr(above.size()));
  return names;
}

MetricStatus StoredRun::status(const std::string& metric) const {
  MetricStatus told;
  if (!file_.exists("/metrics/" + metric)) return told;
  std::map<std::string, AttributeValue> attributes = by_name(file_.attributes("/metrics/" + metric));
  if (const auto* text = std::get_if<std::string>(&attributes["reason"])) told.reason = *text;
  if (const auto* text = std::get_if<std::string>(&attributes["status"])) told.status = *text;
  return told;
}

std::string StoredRun::why_untold(const std::string& metric) const {
  const MetricStatus told = status(metric);
  return (told.status == "ok" ? "without values" : told.status) +
         (told.reason.empty() ? "" : ", " + told.reason) + " in " + path_;
}

double StoredRun::headline(const std::string& metric, const std::string& name) const {
  if (!file_.exists("/metrics/" + metric)) return std::numeric_limits<double>::quiet_NaN();
  std::map<std::string, AttributeValue> attributes = by_name(file_.attributes("/metrics/" + metric));
  const auto found = attributes.find(name);
  if (found == attributes.end()) return std::numeric_limits<double>::quiet_NaN();
  if (const auto* number = std::get_if<double>(&found->second)) return *number;
  if (const auto* integer = std::get_if<std::int64_t>(&found->second)) return static_cast<double>(*integer);
  return std::numeric_limits<double>::quiet_NaN();
}

std::string StoredRun::headline_text(const std::string& metric, const std::string& name) const {
  if (!file_.exists("/metrics/" + metric)) return "";
  std::map<std::string, AttributeValue> attributes = by_name(file_.attributes("/metrics/" + metric));
  const auto* text = std::get_if<std::string>(&attributes[name]);
  return text == nullptr ? "" : *text;
}

bool StoredRun::has_table(const std::string& path) const { return file_.exists(path) && file_.layout(path).is_table(); }

std::vector<std::string> StoredRun::group_names() const {
  if (!has_table("/process_groups")) return {};
  const StoredTable groups = table("/process_groups");
  const std::vector<std::string> names = groups.texts("name"), descriptions = groups.texts("description"),
                                 dimensions = groups.texts("dimension"), sizes = groups.texts("group_size"),
                                 members = groups.texts("first_members");
  std::vector<std::string> all;
  for (std::size_t i = 0; i < names.size(); ++i) {
    // NCCL numbers its communicators anew in each run: the name tells nothing where members are known.
    const std::string called = !descriptions[i].empty() ? descriptions[i] : members[i].empty() ? names[i] : "";
    all.push_back((called.empty() ? "" : called + " ") + dimensions[i] + " of " + sizes[i] +
                  (members[i].empty() ? "" : ": " + members[i]));
  }
  return all;
}

}  // namespace ccl
