#pragma once

#include "experiments/config/settings.hpp"
#include "experiments/program/console.hpp"
#include "experiments/program/usage_error.hpp"
#include "experiments/run/run_folder.hpp"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace surd {

/// What `read` makes of each of these folders of runs, each once, however it is named. One of which it throws Error is
/// left out with a warning, because it must not hide the others; warnings tell as well of a config.yaml that was
/// changed, and of one run made twice. Throws UsageError "`command`: none of the folders is a run that `can`" where
/// none is left.
template <class Read>
auto read_named_runs(const std::vector<std::string>& folders, const char* command, const char* can, Read read) {
  std::vector<decltype(read(std::string()))> runs;
  std::map<Settings, std::string> known;
  Console console;
  for (const std::string& folder : distinct_folders(folders)) {
    try {
      auto run = read(folder);
      const Settings settings = settings_of(RunFolder(folder));
      if (const std::string changed = RunFolder(folder).changed_config(); !changed.empty()) console.warn(changed);
      if (const auto [same, is_new] = known.emplace(settings, folder); !is_new)
        console.warn(
            fmt::format("{} has the settings and the seed of {}: they count as two, and are one run made twice", folder,
                        same->second));
      runs.push_back(std::move(run));
    } catch (const Error& error) {
      console.warn(fmt::format("left out: {}", error.what()));
    }
  }
  expect_usage(!runs.empty(), command, "none of the folders is a run that {}", can);
  return runs;
}

}  // namespace surd
