#include "experiments/study/file/study_group.hpp"

#include "experiments/config/read_options.hpp"
#include "experiments/program/usage_error.hpp"
#include "experiments/study/file/claims.hpp"
#include "experiments/study/file/study_fields.hpp"
#include "train/storage/files.hpp"

#include <algorithm>
#include <set>

namespace surd {
namespace {

namespace fs = std::filesystem;

}  // namespace

std::vector<std::string> study_names(const fs::path& folder) {
  std::vector<std::string> studies;
  for (const std::string& name : names_in(folder.string()))
    if (fs::path(name).extension() == ".yaml" && name != claims_file) studies.push_back(fs::path(name).stem().string());
  std::sort(studies.begin(), studies.end());
  return studies;
}

bool is_study_group(const std::string& file) {
  expect_usage(!path_exists(file) || is_file(file) || is_folder(file), file,
               "is no regular file, and a study is read more than once; put it into one");
  return path_exists(file) && YamlDocument::load(file).root().find("studies") != nullptr;
}

StudyGroup load_study_group(const std::string& file) {
  const YamlDocument document = YamlDocument::load(file);
  GroupFields fields;
  read_options(document, fields);
  StudyGroup group{fields.question, {}};
  std::vector<Problem> problems;
  const auto expect_that = [&](bool holds, const Origin& origin, const std::string& message) {
    if (!holds) problems.push_back({origin, "studies", message});
    return holds;
  };
  const YamlNode& list = *fields.studies.node;
  expect_that(list.kind == YamlNode::Kind::list && !list.children.empty(), list.origin,
              "must be a list of names such as [r01-ledger]");
  const std::vector<std::string> beside = study_names(fs::absolute(file).parent_path());
  std::set<std::string> seen;
  for (const YamlNode& child : list.children) {
    if (!expect_that(child.kind == YamlNode::Kind::scalar, child.origin,
                     fmt::format("must be a name such as r01-ledger; got {}", child.described())))
      continue;
    const fs::path study = fs::path(file).parent_path() / (child.text + ".yaml");
    const std::string name = shown(child.text);
    if (!expect_that(
            includes(beside, child.text), child.origin,
            includes(beside, study.stem().stem().string())
                ? fmt::format("'{}' is the name of a file; write {}", name, study.stem().stem().string())
                : fmt::format("there is no study '{}' beside this file{}", name, did_you_mean(child.text, beside))))
      continue;
    expect_that(!is_study_group(study.string()), child.origin,
                fmt::format("'{}' has studies itself; name those", name));
    expect_that(seen.insert(child.text).second, child.origin, fmt::format("'{}' stands there twice; remove one", name));
    group.studies.push_back(study);
  }
  if (!problems.empty()) throw ConfigError(std::move(problems));
  return group;
}

}  // namespace surd
