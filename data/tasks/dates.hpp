#pragma once

#include "data/tasks/synthetic.hpp"

namespace surd {

/// A day of the Gregorian calendar.
struct Date {
  std::size_t year;   ///< 1 .. 9999
  std::size_t month;  ///< 1 .. 12
  std::size_t day;    ///< 1 .. 31
};

std::size_t days_in_month(std::size_t year, std::size_t month);

/// 0 = Sunday .. 6 = Saturday.
std::size_t weekday(const Date& date);

/// "1994-05-03".
std::string iso_date(const Date& date);

/// The forms in which people write a date, as fmt patterns; see dates.cpp for their fields. No text stands for two
/// days, given these conventions: slashes separate month/day/year, or year/month/day where a year of four digits comes
/// first; dots separate day.month.year; a year of two digits lies between 1950 and 2049.
const std::vector<std::string>& date_patterns();

/// Whether the pattern can write the date, that is unless the pattern's year has two digits and the date's lies outside
/// 1950 .. 2049.
bool can_write_date(const Date& date, const std::string& pattern);

/// The date in the form of a pattern: "3rd of May 1994", "05/03/94", "Tuesday, May 3, 1994", "3.5.1994".
std::string write_date(const Date& date, const std::string& pattern);

struct DatesOptions : SplitSizes {
  std::size_t first_year = 1950;
  std::size_t last_year = 2049;
  bool shared_vocabulary = false;

  void fields(Fields& f);
};

/// Translates a date as people write it into ISO 8601, character by character. Year, month, day and pattern are
/// uniform. No source occurs twice; a test date may have been trained on in another form.
class DatesTask : public Task {
 public:
  using Options = DatesOptions;
  explicit DatesTask(Options options);

  TextFormat format() const override;
  Corpus load(std::uint64_t seed) const override;

 private:
  Options options_;
};

}  // namespace surd
