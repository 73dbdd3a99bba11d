#include "tests/experiments/study/report/report_fixture.hpp"

#include <filesystem>

/// write_report FOLDER: the fixture's study folder, for report_browser.py.
int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::filesystem::remove_all(argv[1]);
  std::filesystem::create_directories(argv[1]);
  ReportFixture().write(argv[1]);
}
