#pragma once

#include "bench/report.h"
#include "bench/settings.h"
#include "bench/workload.h"

// What heed_bench can measure, each in the file of its name.

namespace bench {

/// Training steps of heed::Transformer.
void measure_seq2seq(
    const Seq2SeqWorkload& workload,
    const Settings& settings,
    const Report& report);

/// Training steps of a decoder alone.
void measure_gpt(const Settings& settings, const Report& report);

}  // namespace bench
