#include "data/tasks/dates.hpp"

#include "autograd/base/error.hpp"

#include <doctest/doctest.h>

#include <unordered_map>

namespace surd {
namespace {

TEST_CASE("a date is written in every form") {
  const Date date{1994, 5, 3};
  std::vector<std::string> texts;
  for (const std::string& pattern : date_patterns()) texts.push_back(write_date(date, pattern));
  CHECK(texts == std::vector<std::string>{"3 May 1994",
                                          "3 May 1994",
                                          "3rd May 1994",
                                          "3rd of May 1994",
                                          "the 3rd of May 1994",
                                          "May 3, 1994",
                                          "May 3, 1994",
                                          "May 3rd, 1994",
                                          "Tuesday, May 3, 1994",
                                          "Tuesday, 3 May 1994",
                                          "Tue 3 May 1994",
                                          "1994 May 3",
                                          "3-May-1994",
                                          "3 May '94",
                                          "5/3/1994",
                                          "05/03/1994",
                                          "5/3/94",
                                          "05/03/94",
                                          "3.5.1994",
                                          "03.05.1994",
                                          "3.5.94",
                                          "03.05.94",
                                          "1994/05/03",
                                          "1994-05-03",
                                          "19940503"});
  CHECK(iso_date(date) == "1994-05-03");
  CHECK(iso_date({33, 12, 1}) == "0033-12-01");
  CHECK(write_date({2007, 9, 21}, "{wday} {ordinal} {mon} '{yy}") == "Fri 21st Sep '07");
}

TEST_CASE("ordinals of all days") {
  std::string all;
  for (std::size_t day = 1; day <= 31; ++day) all += write_date({2000, 1, day}, "{ordinal} ");
  CHECK(
      all ==
      "1st 2nd 3rd 4th 5th 6th 7th 8th 9th 10th 11th 12th 13th 14th 15th 16th 17th 18th 19th 20th 21st 22nd 23rd 24th "
      "25th 26th 27th 28th 29th 30th 31st ");
}

TEST_CASE("the calendar is the Gregorian one") {
  CHECK(days_in_month(1900, 2) == 28);
  CHECK(days_in_month(2000, 2) == 29);
  CHECK(days_in_month(1996, 2) == 29);
  CHECK(days_in_month(1997, 2) == 28);
  CHECK(days_in_month(1997, 4) == 30);
  CHECK(weekday({1994, 5, 3}) == 2);
  CHECK(weekday({1969, 7, 20}) == 0);
  CHECK(weekday({1900, 1, 1}) == 1);
  CHECK(weekday({2000, 2, 29}) == 2);
  CHECK(weekday({2024, 12, 31}) == 2);
  CHECK(weekday({1, 1, 1}) == 1);
  CHECK(weekday({9999, 12, 31}) == 5);
}

TEST_CASE("two-digit years stand for 1950 to 2049") {
  CHECK_FALSE(can_write_date({1949, 12, 31}, "{d}.{m}.{yy}"));
  CHECK(can_write_date({1950, 1, 1}, "{d}.{m}.{yy}"));
  CHECK(can_write_date({2049, 12, 31}, "{d}.{m}.{yy}"));
  CHECK_FALSE(can_write_date({2050, 1, 1}, "{d}.{m}.{yy}"));
  CHECK(can_write_date({1949, 12, 31}, "{d}.{m}.{yyyy}"));
}

TEST_CASE("no text stands for two days") {
  std::unordered_map<std::string, std::string> meaning;
  std::size_t ambiguous = 0;
  for (const std::size_t year : {1203, 1912, 1950, 1994, 2003, 2012, 2020, 2049, 2101}) {
    for (std::size_t month = 1; month <= 12; ++month) {
      for (std::size_t day = 1; day <= days_in_month(year, month); ++day) {
        const Date date{year, month, day};
        for (const std::string& pattern : date_patterns()) {
          if (!can_write_date(date, pattern)) continue;
          const auto [entry, fresh] = meaning.emplace(write_date(date, pattern), iso_date(date));
          if (!fresh && entry->second != iso_date(date)) ++ambiguous;
        }
      }
    }
  }
  CHECK(ambiguous == 0);
  CHECK(meaning.size() > 60000);
}

TEST_CASE("years stay in their range, and all patterns are used") {
  DatesOptions options;
  options.first_year = 1940;
  options.last_year = 1955;
  options.train_size = 2000;
  const Corpus corpus = DatesTask(options).load(1);
  std::vector<std::size_t> used(date_patterns().size());
  for (const TextPair& pair : corpus.split("train").pairs) {
    const Date date{std::stoul(pair.target.substr(0, 4)), std::stoul(pair.target.substr(5, 2)),
                    std::stoul(pair.target.substr(8, 2))};
    CHECK(date.year >= 1940);
    CHECK(date.year <= 1955);
    bool written = false;
    for (std::size_t i = 0; i < used.size(); ++i) {
      if (!can_write_date(date, date_patterns()[i]) || write_date(date, date_patterns()[i]) != pair.source) continue;
      ++used[i];
      written = true;
    }
    CHECK(written);
  }
  for (const std::size_t count : used) CHECK(count > 0);
}

TEST_CASE("the two vocabularies are characters, shared only on request") {
  DatesOptions options;
  CHECK(DatesTask(options).format().subwords.name() == "characters");
  CHECK_FALSE(DatesTask(options).format().shared_vocabulary);
  options.shared_vocabulary = true;
  CHECK(DatesTask(options).format().shared_vocabulary);
  options.last_year = 1900;
  CHECK_THROWS_WITH_AS(DatesTask{options}, "dates: last_year must be at least first_year = 1950; it is 1900", Error);
}

}  // namespace
}  // namespace surd
