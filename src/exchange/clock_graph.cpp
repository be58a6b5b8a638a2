// Clock differences between pairs of hosts -> one value per host: a spanning tree gives exact integers, conjugate
// gradients spread over all edges what the tree leaves. The small rest keeps double precision good for 20 s offsets.
#include <cmath>
#include <deque>

#include "exchange/clock.hpp"

namespace ccl {
namespace {

using Vector = std::vector<double>;

struct Graph {
  std::vector<ClockEdge> edges;  // those between reached hosts
  Vector degree;                 // Σ weights
  std::size_t reference = 0;

  /// The graph Laplacian, with the reference held at 0.
  Vector times(const Vector& x) const {
    Vector y(x.size(), 0.0);
    for (const ClockEdge& e : edges) {
      const auto a = static_cast<std::size_t>(e.a), b = static_cast<std::size_t>(e.b);
      const double flow = e.weight * (x[b] - x[a]);
      y[b] += flow;
      y[a] -= flow;
    }
    y[reference] = 0;
    return y;
  }
};

double dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

Vector conjugate_gradients(const Graph& graph, Vector rest) {
  const std::size_t n = rest.size();
  rest[graph.reference] = 0;
  Vector x(n, 0.0), scaled(n, 0.0);
  const auto scale = [&] {
    for (std::size_t i = 0; i < n; ++i) scaled[i] = graph.degree[i] > 0 ? rest[i] / graph.degree[i] : 0.0;
  };
  scale();
  Vector direction = scaled;
  double size = dot(rest, scaled);
  const double enough = size * 1e-18;
  for (std::size_t round = 0; round < 4 * n + 50 && size > enough; ++round) {
    const Vector image = graph.times(direction);
    const double curvature = dot(direction, image);
    if (!(curvature > 0)) break;
    const double step = size / curvature;
    for (std::size_t i = 0; i < n; ++i) {
      x[i] += step * direction[i];
      rest[i] -= step * image[i];
    }
    scale();
    const double next = dot(rest, scaled);
    for (std::size_t i = 0; i < n; ++i) direction[i] = scaled[i] + next / size * direction[i];
    size = next;
  }
  return x;
}

}  // namespace

ClockSolution solve_clock_graph(std::size_t hosts_count, std::int32_t reference, const std::vector<ClockEdge>& edges) {
  ClockSolution solution{std::vector<std::int64_t>(hosts_count, 0), std::vector<bool>(hosts_count, false)};
  std::vector<std::vector<std::size_t>> touching(hosts_count);
  for (std::size_t e = 0; e < edges.size(); ++e) {
    touching[static_cast<std::size_t>(edges[e].a)].push_back(e);
    touching[static_cast<std::size_t>(edges[e].b)].push_back(e);
  }
  std::deque<std::int32_t> waiting{reference};
  solution.reached[static_cast<std::size_t>(reference)] = true;
  while (!waiting.empty()) {
    const std::int32_t host = waiting.front();
    waiting.pop_front();
    for (const std::size_t e : touching[static_cast<std::size_t>(host)]) {
      const bool forward = edges[e].a == host;
      const std::int32_t other = forward ? edges[e].b : edges[e].a;
      if (solution.reached[static_cast<std::size_t>(other)]) continue;
      solution.reached[static_cast<std::size_t>(other)] = true;
      solution.values[static_cast<std::size_t>(other)] =
          solution.values[static_cast<std::size_t>(host)] + (forward ? edges[e].value : -edges[e].value);
      waiting.push_back(other);
    }
  }
  Graph graph{{}, Vector(hosts_count, 0.0), static_cast<std::size_t>(reference)};
  Vector rest(hosts_count, 0.0);
  for (const ClockEdge& e : edges) {
    const auto a = static_cast<std::size_t>(e.a), b = static_cast<std::size_t>(e.b);
    if (!solution.reached[a]) continue;
    graph.edges.push_back(e);
    graph.degree[a] += e.weight;
    graph.degree[b] += e.weight;
    const double left = e.weight * static_cast<double>(e.value - (solution.values[b] - solution.values[a]));
    rest[b] += left;
    rest[a] -= left;
  }
  const Vector correction = conjugate_gradients(graph, std::move(rest));
  for (std::size_t h = 0; h < hosts_count; ++h)
    if (solution.reached[h]) solution.values[h] += std::llround(correction[h]);
  return solution;
}

}  // namespace ccl
