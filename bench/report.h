#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "bench/machine.h"
#include "bench/timing.h"

namespace bench {

using Json = nlohmann::ordered_json;

/// Prints what was measured: one line of JSON a figure.
class Report {
 public:
  /// Made when the program starts: it counts what others take from then on.
  Report(std::string peer, int threads);

  void print(
      const std::string& workload,
      const std::string& impl,
      const Json& figures) const;
  /// `tokens` a call, 0 where none are counted.
  void print(
      const std::string& workload,
      const std::string& impl,
      const Timing& timing,
      double tokens,
      const Json& more = Json::object()) const;

 private:
  std::string peer_;
  int threads_;
  Noise noise_;
  double base_rss_mb_;
};

}  // namespace bench
