#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "bench/op_workload.h"
#include "bench/report.h"
#include "bench/settings.h"
#include "bench/workload.h"

// How long and how often each kind of figure is measured, and what its record
// says; what is called is the library's own.

namespace bench {

using Call = std::function<void()>;

void report_op(
    const OpWorkload& op,
    const Call& call,
    const Settings& settings,
    const Report& report);

/// Operations that a call of report_chain chains.
constexpr int kChainLength = 1000;

void report_chain(
    const std::string& name,
    const Call& chain,
    const Settings& settings,
    const Report& report);

/// Training steps of a network 10-16-1.
void report_mlp(
    const std::string& optimizer,
    int64_t batch,
    const Call& step,
    const Settings& settings,
    const Report& report);

void report_decoding(
    const std::string& impl,
    int64_t batch,
    const Call& decode,
    const Settings& settings,
    const Report& report);

void report_search(
    const SearchWorkload& workload,
    const std::string& impl,
    const Call& decode,
    const Settings& settings,
    const Report& report);

void report_scaling(
    const ScalingWorkload& workload,
    const Call& step,
    const Settings& settings,
    const Report& report);

}  // namespace bench
