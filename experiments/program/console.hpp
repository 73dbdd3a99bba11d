#pragma once

#include "experiments/program/stopwatch.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

/// What any part of the program may need: output for a person, exit codes, stop signals, a stopwatch, texts, the
/// folders that come with the program, its version. This room uses autograd/base and nothing else of the project, so
/// that every room of experiments/ may use it. Start here, then read exit_code.hpp and usage_error.hpp.
namespace surd {

/// How far long work is.
struct Progress {
  std::uint64_t done = 0, total = 0;
  double at_start = 0;  ///< how much was done before this process, which says nothing about its rate
  double underway = 0;  ///< the fractions of unfinished items that are done, added up
};
/// "3/8  2.1/min  `details`  1:58 left", after so many seconds of this process.
std::string progress_text(const Progress& progress, double seconds, std::string_view details);

/// What a person sees: lines on standard output; colours only on a terminal and never with NO_COLOR (no-color.org).
class Console {
 public:
  enum class Style { plain, bold, green, yellow, red };

  void line(std::string_view text);
  /// warn() and fail() print a warning or an error on standard error.
  void warn(std::string_view text);
  void fail(std::string_view text);

  /// A bar that is redrawn on a terminal, otherwise a plain line every few seconds, which begins with the time since
  /// the first. Drawn on standard error, so that standard output can be kept.
  void progress(const Progress& progress, std::string_view details);
  /// Removes the bar before other lines are written.
  void end_progress();

 private:
  std::optional<Stopwatch> since_start_;  // of the progress that is shown
  Stopwatch since_drawn_;
  bool bar_shown_ = false;
};

/// Tells a person who waits for more than a second what for and how long already, on standard error: a line that is
/// redrawn on a terminal and goes with this, otherwise one after a second and then every ten.
class Waiting {
 public:
  using Seconds = std::chrono::duration<double>;

  explicit Waiting(std::string what_for, Seconds patience = Seconds(1));
  ~Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  void tell();

  std::string what_for_;
  Seconds patience_;  // of whoever waits
  std::mutex mutex_;
  std::condition_variable change_;
  bool over_ = false;
  std::thread teller_;  // last: it uses the others
};

/// What `work` returns, with such lines where it takes long.
template <class Work>
auto while_waiting(std::string what_for, Work work, Waiting::Seconds patience = Waiting::Seconds(1)) {
  const Waiting waiting(std::move(what_for), patience);
  return work();
}

/// A progress line no wider than a terminal: the bar shrinks, then goes, then the text is cut.
struct BarLine {
  std::string bar;   ///< "━━╌╌", or empty
  std::string text;  ///< ASCII
};
BarLine bar_line(std::uint64_t done, std::uint64_t total, std::string_view text, std::size_t columns);

/// `text` with the escape sequences of a style if `descriptor` is a terminal (other than TERM=dumb) and NO_COLOR is not
/// set.
std::string styled(std::string_view text, Console::Style style, int descriptor);

}  // namespace surd
