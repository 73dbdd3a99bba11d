#include "layers/check_decoding.hpp"

#include <algorithm>
#include <cmath>

namespace surd {

CheckDecodingResult check_decoding(const Transformer& model, std::size_t vocabulary,
                                   const CheckDecodingArguments& options) {
  const std::size_t batch = options.batch, most = model.has_encoder() ? model.max_length() : model.max_length() / 2,
                    length = std::min(options.length, most);
  expect(batch > 0 && length > 0 && vocabulary > 0, "check_decoding", "needs tokens: {} sentences of {}, below {}",
         batch, length, vocabulary);
  random::Sequence draw(random::Stream(options.seed, "check_decoding", "tokens"));
  std::vector<std::int32_t> source(batch * length), target(batch * length);
  for (auto* ids : {&source, &target})
    for (std::int32_t& id : *ids) id = static_cast<std::int32_t>(draw.integer(vocabulary));
  std::vector<std::size_t> lengths, target_lengths;
  for (std::size_t b = 0; b < batch; ++b) {
    const auto shorter_by = [&](std::size_t count) {
      return std::max<std::size_t>(1, length - std::min(count, length));
    };
    lengths.push_back(model.has_encoder() ? shorter_by(b) : length);
    target_lengths.push_back(shorter_by(2 * b));  // nothing that takes one for the other passes
  }

  const TapeArguments forward_only = TapeArguments::inference();
  Tape tape(forward_only), ragged_tape(forward_only), stepping(forward_only);
  const Tokens sources{source, batch, length}, targets{target, batch, length};
  const Variable whole = model.hidden(tape, sources, lengths, targets);
  const Tensor& expected = whole.value();  // [batch, length, d_model]
  const RaggedRows rows(target_lengths, length);
  const bool takes_ragged_rows = model.takes_ragged_rows();
  const Variable ragged = takes_ragged_rows
                              ? model.ragged_hidden(ragged_tape, sources, lengths, targets, target_lengths)
                              : Variable();  // [1, positions of rows, d_model]
  DecoderCache cache = model.start(stepping, sources, lengths);

  double largest = 1e-3;
  for (const Real value : expected) largest = std::max(largest, std::abs(static_cast<double>(value)));
  CheckDecodingResult result;
  const std::size_t d = row_length(expected);
  const auto compare = [&](Real step, Real other, const char* how, std::size_t b, std::size_t t, std::size_t i) {
    const double deviation = std::abs(static_cast<double>(step - other)) / largest;
    if (std::isnan(result.worst) || deviation <= result.worst) return;  // a NaN is the worst
    result.worst = deviation;
    result.where = fmt::format("sentence {}, position {}, column {}{}", b, t, i, how);
  };
  for (std::size_t t = 0; t < length; ++t) {
    stepping.reset(forward_only);
    std::vector<std::int32_t> last;
    for (std::size_t b = 0; b < batch; ++b) last.push_back(target[b * length + t]);
    const Tensor step = model.step(stepping, last, cache).value();  // [batch, 1, d_model]
    for (std::size_t b = 0; b < batch; ++b)
      for (std::size_t i = 0; i < d; ++i) {
        compare(step(b, 0, i), expected(b, t, i), "", b, t, i);
        if (takes_ragged_rows && t < target_lengths[b])
          compare(step(b, 0, i), ragged.value()(0, rows.begin(b) + t, i), ", without padding", b, t, i);
      }
  }
  result.passed = result.worst <= options.tolerance;
  return result;
}

}  // namespace surd
