#pragma once

#include "experiments/program/stop_signals.hpp"
#include "experiments/run/run_training.hpp"

#include <memory>

namespace surd {

/// The processes that make a run together, or null where it is made by one.
std::unique_ptr<Ranks> make_ranks(const RunRequest& request, ParameterSet& parameters, const StopSignals& signals);

/// Throws Error unless all ranks begin with the same config, data and update, on processors that round alike.
void expect_alike(const RunRequest& request, const RunConfig& config, const Corpus& corpus, const TrainState& state);

/// Does the part of a rank that is not the first: it writes nothing, and how the run ended is for the first to say.
int assist(Training training, const RunConfig& config, const TrainState& state, const RunRequest& request);

}  // namespace surd
