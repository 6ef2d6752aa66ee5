#pragma once

#include "bench/op_workload.h"
#include "bench/report.h"
#include "bench/settings.h"
#include "bench/workload.h"

// What can be measured. heed_bench has each of these in heed, torch_bench in
// libtorch.

namespace bench {

/// Training steps of an encoder-decoder.
void measure_seq2seq(
    const Seq2SeqWorkload& workload,
    const Settings& settings,
    const Report& report);

/// Training steps of a decoder alone.
void measure_gpt(const Settings& settings, const Report& report);

/// A single operation.
void measure_op(
    const OpWorkload& op, const Settings& settings, const Report& report);

/// What an operation costs when there is next to nothing to compute: chains of
/// 1000 additions of one number, steps of a network of 193 parameters.
void measure_overhead(const Settings& settings, const Report& report);

/// From the start of the process (see since_start_ms) to the first result and
/// the first gradient.
void measure_startup(const Report& report);

/// Greedy decoding with key/value caches.
void measure_decoding(
    int64_t batch, const Settings& settings, const Report& report);

/// Decoding with a beam of hypotheses.
void measure_search(
    const SearchWorkload& workload,
    const Settings& settings,
    const Report& report);

/// How cost grows with the sizes of a layer.
void measure_scaling(
    const ScalingWorkload& workload,
    const Settings& settings,
    const Report& report);

/// Calls the one that settings.workload names. Throws std::invalid_argument
/// when there is none.
void measure(const Settings& settings, const Report& report);

}  // namespace bench
