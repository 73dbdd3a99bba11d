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

/// What `read` makes of each of these runs and its settings, each folder once, however it is named. A folder for which
/// it throws Error, or that holds no trained run, is left out with a warning, because it must not hide the others;
/// warnings tell as well of a config.yaml that was changed, and of one run made twice. Throws UsageError "`command`:
/// none of the folders is a run that `rule`" where none is left.
template <class Read>
auto read_named_runs(const std::vector<std::string>& folders, const char* command, const char* rule, Read read) {
  std::vector<decltype(read(RunFolder(""), Settings()))> runs;
  std::map<Settings, std::string> known;
  Console console;
  for (const std::string& path : distinct_folders(folders)) {
    try {
      const RunFolder folder(path);
      folder.expect_trained();
      const Settings settings = settings_of(folder);
      auto run = read(folder, settings);
      if (const std::string changed = folder.changed_config(); !changed.empty()) console.warn(changed);
      if (const auto [same, is_new] = known.emplace(settings, path); !is_new)
        console.warn(
            fmt::format("{} has the settings and the seed of {}: they count as two, and are one run made twice", path,
                        same->second));
      runs.push_back(std::move(run));
    } catch (const Error& error) {
      const std::string message = error.what();
      console.warn(fmt::format("left out: {}{}", message.rfind(path, 0) == 0 ? "" : path + ": ", message));
    }
  }
  expect_usage(!runs.empty(), command, "none of the folders is a run that {}", rule);
  return runs;
}

}  // namespace surd
