#pragma once

#include "experiments/study/report/html_report.hpp"

#include <map>
#include <string>

/// A study that never ran: 2 x 2 arms and a tuned rate, ten seeds, curves and probe numbers by formula, one run that
/// diverged and one that failed.
struct ReportFixture {
  /// `finished`: false where no run has ended yet.
  explicit ReportFixture(bool finished = true);

  surd::Study study;
  std::map<std::string, surd::RunResult> results;
  surd::KnownResults known;
  surd::Analysis analysis;
  surd::Provenance provenance;

  std::string chart_library = surd::chart_library();
  std::string html() const {
    return surd::to_html(surd::report_page(study, analysis, known, provenance), chart_library);
  }
  /// Writes the folder as `surd study run` leaves it, with report.html.
  void write(const std::string& folder) const;

 private:
  void analyse();
};
