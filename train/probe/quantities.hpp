#pragma once

#include "train/probe/probed_update.hpp"

#include <functional>
#include <vector>

namespace surd {

/// Asks an update for what a quantity of the probe, or several that belong together, is made from; see ProbedUpdate.
using ProbeQuantity = std::function<void(ProbedUpdate&)>;

/// Everything the probe records, in the order of the records where several have something to say at once. A program
/// adds its own before it trains; docs/extending.md shows how.
std::vector<ProbeQuantity>& probe_quantities();

// What the table has from the start; docs/run-folder.md says what each records.

void watch_coverage(ProbedUpdate& update);        // quantities.cpp
void watch_ops(ProbedUpdate& update);             // quantities.cpp
void watch_attention(ProbedUpdate& update);       // attention_quantities.cpp
void watch_score_parts(ProbedUpdate& update);     // attention_quantities.cpp
void watch_embeddings(ProbedUpdate& update);      // hidden_quantities.cpp
void watch_residuals(ProbedUpdate& update);       // hidden_quantities.cpp
void watch_logits(ProbedUpdate& update);          // hidden_quantities.cpp
void watch_parameters(ProbedUpdate& update);      // parameter_quantities.cpp
void watch_tied_gradients(ProbedUpdate& update);  // parameter_quantities.cpp
void watch_update_ratios(ProbedUpdate& update);   // parameter_quantities.cpp

}  // namespace surd
