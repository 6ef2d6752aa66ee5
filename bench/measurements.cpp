#include "bench/measurements.h"

#include <iostream>

namespace bench {

void measure(const Settings& settings, const Report& report) {
  const std::string& workload = settings.workload;
  if (workload == "startup") {
    measure_startup(report);
  } else if (workload == "gpt") {
    measure_gpt(settings, report);
  } else if (workload == "ops") {
    for (const OpWorkload& op : op_workloads()) {
      measure_op(op, settings, report);
    }
  } else if (workload == "list-ops") {
    for (const OpWorkload& op : op_workloads()) {
      std::cout << op.name << '\n';
    }
  } else if (workload.rfind("ops:", 0) == 0) {
    measure_op(op_workload(workload.substr(4)), settings, report);
  } else if (workload == "overhead") {
    measure_overhead(settings, report);
  } else if (workload == "decode1") {
    measure_decoding(1, settings, report);
  } else if (workload == "decode32") {
    measure_decoding(32, settings, report);
  } else if (workload.rfind("decode:", 0) == 0) {
    measure_search(search_workload(workload), settings, report);
  } else if (workload.rfind("scaling:", 0) == 0) {
    measure_scaling(scaling_workload(workload), settings, report);
  } else {
    measure_seq2seq(seq2seq_workload(workload), settings, report);
  }
}

}  // namespace bench
