#include "experiments/study/report/publish.hpp"

#include "experiments/program/gzip.hpp"
#include "experiments/program/usage_error.hpp"
#include "experiments/study/report/html_report.hpp"
#include "experiments/study/report/write_report.hpp"
#include "train/storage/files.hpp"

#include <filesystem>

namespace surd {
namespace {

using Json = nlohmann::ordered_json;

void expect_believable(const StudyFolder& folder, const Study& study, const Analysis& analysis) {
  expect_usage(!study.quick, folder.path(), "was cut down by --quick, and nothing in it is evidence; run it whole");
  expect_usage(analysis.missing == 0, folder.path(), "{} of its runs have not ended; go on with {}", analysis.missing,
               "surd study run --resume");
  expect_usage(analysis.failed == 0, folder.path(), "{} of its runs failed; let them be made again by surd study retry",
               analysis.failed);
}

Error damaged_page(const std::string& folder) {
  return Error(StudyFolder(folder).published_page() + ": is damaged; fetch it again");
}

/// One study's results are not lost to another's because of a mistyped folder.
void expect_same_study(const std::string& published, const Study& study) {
  Json title;
  try {
    title = read_published(published).value("title", Json());
  } catch (const Error& error) {
    throw UsageError(fmt::format("{}\nremove the folder, or name another --out", error.what()));
  }
  expect_usage(title == study.title, published,
               "holds the results of another study, {}; remove it, or name another --out", title.dump());
}

}  // namespace

void publish(const StudyFolder& folder, const Study& study, const std::string& to) {
  expect_usage(!StudyFolder(to).begun() && !path_exists(to + "/group.json"), to,
               "is the folder of a study or a group, which has files of these names; name another");
  const std::vector<std::string> files = {to + "/verdicts.json", to + "/report.md", to + "/runs.csv.gz",
                                          StudyFolder(to).published_page(), to + "/report.html"};
  for (const std::string& file : files)
    expect_usage(is_published(to) || !path_exists(file), file,
                 "is not of a published study; remove it, or name another --out");
  if (is_published(to)) expect_same_study(to, study);
  const StudyReport report(folder, study);
  expect_believable(folder, study, report.analysis);
  std::error_code error;
  std::filesystem::create_directories(to, error);
  expect(!error, to, "cannot be made: {}; name another --out", error.message());
  const std::string runs = gzip(report.csv);
  const std::string page = gzip(report.page.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  write_files_atomically({{to + "/verdicts.json", report.verdicts},
                          {to + "/report.md", report.markdown},
                          {to + "/runs.csv.gz", runs},
                          {StudyFolder(to).published_page(), page}});
  std::filesystem::remove(to + "/report.html", error);  // that of the results before
}

bool is_published(const std::string& folder) {
  const StudyFolder study(folder);
  return path_exists(study.published_page()) && !study.begun();
}

Json read_published(const std::string& folder) {
  const std::string file = StudyFolder(folder).published_page();
  Json page = Json::parse(gunzip(read_file(file), file), nullptr, false);
  if (!page.is_object()) throw damaged_page(folder);
  return page;
}

std::vector<std::string> lines_of_published(const Json& page, const std::string& folder) {
  std::vector<std::string> lines;
  try {
    lines.push_back(page.at("answer").get<std::string>());
    for (const Json& row : page.at("rows"))
      lines.push_back(fmt::format("{:<10} {}: {}", row.at("verdict").get<std::string>(),
                                  row.at("name").get<std::string>(), row.at("effect").get<std::string>()));
  } catch (const Json::exception&) {
    throw damaged_page(folder);
  }
  return lines;
}

std::vector<std::string> write_published_report(const std::string& folder) {
  const Json page = read_published(folder);
  std::vector<std::string> lines = lines_of_published(page, folder);
  try {
    write_file_atomically(folder + "/report.html", to_html(page, chart_library()));
  } catch (const Json::exception&) {
    throw damaged_page(folder);
  }
  return lines;
}

}  // namespace surd
