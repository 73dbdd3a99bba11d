#include "experiments/program/console.hpp"

#include "experiments/program/text_format.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace surd {
namespace {

constexpr std::size_t bar_width = 24;
constexpr double seconds_between_bars = 0.1;
constexpr double seconds_between_lines = 5;

/// Whether the descriptor is a terminal that can move its cursor and show colours.
bool is_terminal(int descriptor) {
  const char* kind = std::getenv("TERM");
  return isatty(descriptor) == 1 && (kind == nullptr || std::string_view(kind) != "dumb");
}

std::size_t columns_of(int descriptor) {
  winsize size = {};
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : screen_width;
}

bool wants_colour(int descriptor) {
  const char* no_color = std::getenv("NO_COLOR");
  return is_terminal(descriptor) && (no_color == nullptr || *no_color == '\0');
}

const char* code(Console::Style style) {
  switch (style) {
    case Console::Style::plain: break;
    case Console::Style::bold: return "\033[1m";
    case Console::Style::green: return "\033[32m";
    case Console::Style::yellow: return "\033[33m";
    case Console::Style::red: return "\033[31m";
  }
  return "";
}

}  // namespace

std::string styled(std::string_view text, Console::Style style, int descriptor) {
  if (text.empty() || style == Console::Style::plain || !wants_colour(descriptor)) return std::string(text);
  return fmt::format("{}{}\033[0m", code(style), text);
}

BarLine bar_line(std::uint64_t done, std::uint64_t total, std::string_view text, std::size_t columns) {
  constexpr std::size_t smallest_bar = 4;
  const std::size_t room = columns > 0 ? columns - 1 : 0;  // in the last column some terminals begin a new line
  const std::size_t width = room > text.size() ? std::min(bar_width, room - text.size() - 1) : 0;
  if (width < smallest_bar) return {"", std::string(text.substr(0, room))};
  const std::size_t filled = total == 0 ? width : width * std::min(done, total) / total;
  std::string bar;
  for (std::size_t i = 0; i < width; ++i) bar += i < filled ? "━" : "╌";
  return {bar, " " + std::string(text)};
}

void Console::line(std::string_view text) {
  end_progress();
  fmt::print("{}\n", text);
  std::fflush(stdout);
}

void Console::warn(std::string_view text) {
  end_progress();
  to_stderr("{} {}\n", styled("warning:", Style::yellow, STDERR_FILENO), text);
}

void Console::fail(std::string_view text) {
  end_progress();
  to_stderr("{} {}\n", styled("error:", Style::red, STDERR_FILENO), text);
}

std::string progress_text(const Progress& progress, double seconds, std::string_view details) {
  const double done = static_cast<double>(progress.done) + progress.underway;
  const double rate = seconds > 0 ? std::max(0.0, done - progress.at_start) / seconds : 0;
  const std::string left = rate > 0 ? clock_time((static_cast<double>(progress.total) - done) / rate) : "?";
  return fmt::format("{}/{}  {}  {}  {} left", progress.done, progress.total, rate_text(rate), details, left);
}

void Console::progress(const Progress& progress, std::string_view details) {
  if (!since_start_) {
    since_start_ = Stopwatch();
    since_drawn_ = Stopwatch();
  }
  const bool terminal = is_terminal(STDERR_FILENO);
  if (since_drawn_.seconds() < (terminal ? seconds_between_bars : seconds_between_lines)) return;
  since_drawn_ = Stopwatch();

  const double seconds = since_start_->seconds();
  const std::string text = progress_text(progress, seconds, details);
  if (!terminal) {
    to_stderr("{}  {}\n", clock_time(seconds), text);
    return;
  }
  const BarLine line = bar_line(progress.done, progress.total, text, columns_of(STDERR_FILENO));
  to_stderr("\r\033[K{}{}", styled(line.bar, Style::green, STDERR_FILENO), line.text);
  std::fflush(stderr);
  bar_shown_ = true;
}

void Console::end_progress() {
  if (!bar_shown_) return;
  to_stderr("\r\033[K");
  std::fflush(stderr);
  bar_shown_ = false;
}

Waiting::Waiting(std::string what_for, Seconds patience) : what_for_(std::move(what_for)), patience_(patience) {
  try {
    teller_ = std::thread([this] { tell(); });
  } catch (const std::system_error&) {  // there is no thread to be had: nobody is told
  }
}

Waiting::~Waiting() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  change_.notify_one();
  if (teller_.joinable()) teller_.join();
}

void Waiting::tell() {
  const Stopwatch watch;
  const bool terminal = is_terminal(STDERR_FILENO);
  bool told = false;
  std::unique_lock lock(mutex_);
  while (!change_.wait_for(lock, terminal || !told ? patience_ : 10 * patience_, [&] { return over_; })) {
    to_stderr("{}{}  {}{}", terminal ? "\r\033[K" : "", clock_time(watch.seconds()), what_for_, terminal ? "" : "\n");
    told = true;
  }
  if (told && terminal) to_stderr("\r\033[K");
}

}  // namespace surd
