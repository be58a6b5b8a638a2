#include "store/finish_matrices.hpp"

#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

namespace ccl {
namespace {

/// By path. Of those of which this worker has no rows only what all workers say alike.
std::map<std::string, ResultMatrix> agree_on_matrices(std::vector<ResultMatrix> mine, const Comm& comm) {
  ByteWriter heads;
  for (const ResultMatrix& matrix : mine) {
    heads.text(matrix.path);
    heads.text(matrix.description);
    heads.text(matrix.unit);
    heads.value(matrix.columns_count);
    heads.value(matrix.rows_total);
  }
  std::map<std::string, ResultMatrix> all;
  for (ResultMatrix& matrix : mine) {
    const auto [at, added] = all.try_emplace(matrix.path, std::move(matrix));
    if (!added) throw std::logic_error("two slices of '" + at->first + "' on one worker");
  }
  for (const Bytes& parcel : comm.gather_all(heads.take()))
    for (ByteReader in(parcel); !in.at_end();) {
      ResultMatrix matrix;
      matrix.path = in.text();
      matrix.description = in.text();
      matrix.unit = in.text();
      matrix.columns_count = in.value<std::int64_t>();
      matrix.rows_total = in.value<std::int64_t>();
      all.try_emplace(matrix.path, matrix);
    }
  return all;
}

}  // namespace

std::vector<FinishedMatrix> finish_matrices(std::vector<ResultMatrix> mine, const Comm& comm) {
  std::vector<FinishedMatrix> finished;
  for (auto& [path, slice] : agree_on_matrices(std::move(mine), comm)) finished.push_back(finish_matrix(std::move(slice), comm));
  return finished;
}

std::vector<FinishedMatrix> finish_matrices(const std::vector<std::unique_ptr<Metric>>& metrics, const Comm& comm) {
  std::vector<ResultMatrix> mine;
  for (const auto& metric : metrics) {
    std::vector<ResultMatrix> slices = metric->take_matrices();
    mine.insert(mine.end(), std::make_move_iterator(slices.begin()), std::make_move_iterator(slices.end()));
  }
  return finish_matrices(std::move(mine), comm);
}

}  // namespace ccl
