#include "experiments/run/logs/named_numbers.hpp"

namespace surd {

NamedNumbers numbers_of(const UpdateRecord& record) {
  return {{"train/epoch", static_cast<double>(record.epoch)},
          {"train/loss", record.loss},
          {"train/gradient_norm", record.gradient_norm},
          {"train/learning_rate", record.learning_rate},
          {"train/source_tokens", static_cast<double>(record.source_tokens)},
          {"train/target_tokens", static_cast<double>(record.target_tokens)}};
}

NamedNumbers numbers_of(const EvaluationRecord& record) {
  NamedNumbers numbers = {{"valid/loss", record.loss},
                          {"valid/perplexity", record.perplexity},
                          {"valid/token_accuracy", record.token_accuracy}};
  if (record.bits_per_byte) numbers.emplace_back("valid/bits_per_byte", *record.bits_per_byte);
  if (record.sequence_accuracy) numbers.emplace_back("valid/sequence_accuracy", *record.sequence_accuracy);
  if (record.bleu) numbers.emplace_back("valid/bleu", *record.bleu);
  if (record.chrf) numbers.emplace_back("valid/chrf", *record.chrf);
  if (record.trained_target_tokens)
    numbers.emplace_back("valid/trained_target_tokens", static_cast<double>(*record.trained_target_tokens));
  numbers.emplace_back("valid/best", record.best ? 1.0 : 0.0);
  return numbers;
}

}  // namespace surd
