// Judges one figure: reads pairs "ours reference" from stdin, prints one line and says by its exit code whether the
// verdict is the wanted one.
//
//   bench_ratio NAME AGAINST parity|more|less|better=X|worse-at-most=X|info
//
// "name ratio low high pairs against-what verdict". The interval is the 95 % one of the median of the pairs' ratios, by
// order statistics. parity: the interval overlaps [0.97, 1.03] and its half-width is at most 5 % of the ratio (wider is
// inconclusive, which is not passed). more, less: parity, or surely on the good side of 1. better=X: the lower bound is
// at least X. worse-at-most=X: the upper bound is at most X. Exit code 0 passed, 1 not.
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/numbers.h"
#include "common/statistics/summary.h"

namespace fleetmark {
namespace {

struct Verdict {
  const char* word;
  bool passed;
};

Verdict Judge(std::string_view rule, double ratio, const Interval& interval) {
  double bound = 0;
  const auto bound_of = [&](std::string_view prefix) {
    return rule.substr(0, prefix.size()) == prefix && absl::SimpleAtod(std::string(rule.substr(prefix.size())), &bound);
  };
  if (rule == "info") return {"information", true};
  if (bound_of("better=")) return interval.low >= bound ? Verdict{"better", true} : Verdict{"not-better", false};
  if (bound_of("worse-at-most=")) {
    return interval.high <= bound ? Verdict{"within", true} : Verdict{"above", false};
  }
  if (rule == "more" && interval.low >= 1) return {"better", true};
  if (rule == "less" && interval.high <= 1) return {"better", true};
  if (interval.low > 1.03 || interval.high < 0.97) return {"different", false};
  if ((interval.high - interval.low) / 2 > 0.05 * ratio) return {"inconclusive", false};
  return {"parity", true};
}

int Main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: bench_ratio NAME AGAINST parity|more|less|better=X|worse-at-most=X|info <pairs\n");
    return 2;
  }
  std::vector<double> ratios;
  double ours = 0, reference = 0;
  while (std::scanf("%lf %lf", &ours, &reference) == 2) {
    if (ours > 0 && reference > 0) ratios.push_back(ours / reference);
  }
  const std::optional<double> ratio = Median(ratios);
  const std::optional<Interval> interval = MedianInterval95(ratios);
  if (!ratio || !interval) {
    std::printf("%s - - - %zu %s too-few-pairs\n", argv[1], ratios.size(), argv[2]);
    return 1;
  }
  const Verdict verdict = Judge(argv[3], *ratio, *interval);
  std::printf("%-34s %.3f %.3f %.3f %zu %s %s (%s)\n", argv[1], *ratio, interval->low, interval->high, ratios.size(),
              argv[2], verdict.word, argv[3]);
  return verdict.passed ? 0 : 1;
}

}  // namespace
}  // namespace fleetmark

int main(int argc, char** argv) { return fleetmark::Main(argc, argv); }
