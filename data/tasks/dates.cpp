#include "data/tasks/dates.hpp"

#include <array>

namespace surd {
namespace {

constexpr std::size_t window_begin = 1950;  // the years that two digits can name
constexpr std::size_t window_end = 2050;

constexpr std::array<const char*, 12> months = {"January", "February", "March",     "April",   "May",      "June",
                                                "July",    "August",   "September", "October", "November", "December"};
constexpr std::array<const char*, 7> weekdays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                 "Thursday", "Friday", "Saturday"};

std::string_view abbreviation(std::string_view name) { return name.substr(0, 3); }

std::string ordinal(std::size_t number) {
  const bool teen = number / 10 % 10 == 1;
  const std::size_t digit = number % 10;
  const char* suffix = teen || digit > 3 || digit == 0 ? "th" : digit == 1 ? "st" : digit == 2 ? "nd" : "rd";
  return fmt::format("{}{}", number, suffix);
}

Date draw_date(random::Sequence& draw, const DatesOptions& options) {
  Date date{};
  date.year = draw.between(options.first_year, options.last_year);
  date.month = draw.between(1, 12);
  date.day = draw.between(1, days_in_month(date.year, date.month));
  return date;
}

}  // namespace

std::size_t days_in_month(std::size_t year, std::size_t month) {
  constexpr std::array<std::size_t, 12> days = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return days[month - 1] + (month == 2 && leap ? 1 : 0);
}

std::size_t weekday(const Date& date) {
  std::size_t day_of_year = date.day;
  for (std::size_t month = 1; month < date.month; ++month) day_of_year += days_in_month(date.year, month);
  const std::size_t years = date.year - 1;  // 1 January of the year 1 was a Monday
  return (years + years / 4 - years / 100 + years / 400 + day_of_year) % 7;
}

std::string iso_date(const Date& date) { return fmt::format("{:04}-{:02}-{:02}", date.year, date.month, date.day); }

const std::vector<std::string>& date_patterns() {
  // d, m: no leading zero; dd, mm: two digits; yy, yyyy: two or four digits of the year; mon, wday: three letters.
  static const std::vector<std::string> patterns = {
      "{d} {month} {yyyy}",
      "{d} {mon} {yyyy}",
      "{ordinal} {month} {yyyy}",
      "{ordinal} of {month} {yyyy}",
      "the {ordinal} of {month} {yyyy}",
      "{month} {d}, {yyyy}",
      "{mon} {d}, {yyyy}",
      "{month} {ordinal}, {yyyy}",
      "{weekday}, {month} {d}, {yyyy}",
      "{weekday}, {d} {month} {yyyy}",
      "{wday} {d} {mon} {yyyy}",
      "{yyyy} {month} {d}",
      "{d}-{mon}-{yyyy}",
      "{d} {mon} '{yy}",
      "{m}/{d}/{yyyy}",
      "{mm}/{dd}/{yyyy}",
      "{m}/{d}/{yy}",
      "{mm}/{dd}/{yy}",
      "{d}.{m}.{yyyy}",
      "{dd}.{mm}.{yyyy}",
      "{d}.{m}.{yy}",
      "{dd}.{mm}.{yy}",
      "{yyyy}/{mm}/{dd}",
      "{yyyy}-{mm}-{dd}",
      "{yyyy}{mm}{dd}",
  };
  return patterns;
}

bool can_write_date(const Date& date, const std::string& pattern) {
  const bool two_digits = pattern.find("{yy}") != std::string::npos;
  return !two_digits || (date.year >= window_begin && date.year < window_end);
}

std::string write_date(const Date& date, const std::string& pattern) {
  const std::string_view month = months.at(date.month - 1);
  const std::string_view day_name = weekdays.at(weekday(date));
  const auto padded = [](std::size_t number) { return fmt::format("{:02}", number); };
  return fmt::format(fmt::runtime(pattern), fmt::arg("d", date.day), fmt::arg("dd", padded(date.day)),
                     fmt::arg("ordinal", ordinal(date.day)), fmt::arg("m", date.month),
                     fmt::arg("mm", padded(date.month)), fmt::arg("month", month), fmt::arg("mon", abbreviation(month)),
                     fmt::arg("yy", padded(date.year % 100)), fmt::arg("yyyy", fmt::format("{:04}", date.year)),
                     fmt::arg("weekday", day_name), fmt::arg("wday", abbreviation(day_name)));
}

void DatesOptions::fields(Fields& f) {
  SplitSizes::fields(f);
  f("first_year", first_year, "earliest year; two digits stand for 1950 to 2049 and are only used there",
    between(1, 9999));
  f("last_year", last_year, "latest year", between(1, 9999));
  f("shared_vocabulary", shared_vocabulary, "one vocabulary for both sides, so that all embeddings can be tied");
  f.rule(first_year <= last_year, "last_year", fmt::format("must be at least first_year = {}", first_year));
}

DatesTask::DatesTask(Options options) : options_(options) { check_options("dates", options_); }

TextFormat DatesTask::format() const {
  TextFormat format;
  format.subwords.select("characters");
  format.shared_vocabulary = options_.shared_vocabulary;
  return format;
}

Corpus DatesTask::load(std::uint64_t seed) const {
  Corpus corpus(format());
  corpus.splits = DistinctExamples("dates", seed).deal(options_, [&](random::Sequence& draw) {
    const Date date = draw_date(draw, options_);
    const std::string* pattern = nullptr;
    do pattern = &draw.choose(date_patterns());
    while (!can_write_date(date, *pattern));
    return TextPair{write_date(date, *pattern), iso_date(date)};
  });
  return corpus;
}

}  // namespace surd
