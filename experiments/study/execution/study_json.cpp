#include "experiments/study/execution/study_json.hpp"

#include "experiments/study/execution/study_folder.hpp"
#include "train/storage/files.hpp"
#include "train/storage/hash.hpp"
#include "train/storage/json_object.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace surd {
namespace {

using Json = nlohmann::ordered_json;

std::string hash_of_settings(const std::vector<std::string>& settings) {
  return hash_of(fmt::format("{}", fmt::join(settings, "\n")));
}

std::string to_json_text(const Beginning& begun) {
  Json json{{"file", begun.file},
            {"set", begun.settings},
            {"set_hash", hash_of_settings(begun.settings)},
            {"quick", begun.quick},
            {"base_files", begun.base_files},
            {"hash", begun.hash},
            {"base_hashes", begun.base_hashes},
            {"keep_checkpoints", begun.keep_checkpoints},
            {"reuse", begun.reuse},
            {"retries", begun.retries},
            {"layout", begun.layout}};
  if (!begun.more_seeds.empty()) json["more_seeds"] = begun.more_seeds;
  return json.dump(2) + "\n";
}

}  // namespace

std::string study_json_file(const std::string& folder) { return folder + "/study.json"; }
std::string base_folder(const std::string& folder) { return folder + "/base"; }

std::string base_copy(const std::string& folder, std::size_t i) {
  return fmt::format("{}/{}.yaml", base_folder(folder), i + 1);
}

Beginning read_beginning(const std::string& folder) {
  const std::string text = read_file(study_json_file(folder));
  const JsonObject origin(text, study_json_file(folder), damaged_study_json);
  const Json json = Json::parse(text);
  const auto texts = [&](const char* key) {
    const auto is_text = [](const Json& element) { return element.is_string(); };
    const Json list = json.value(key, Json());
    origin.require(list.is_array() && std::all_of(list.begin(), list.end(), is_text), "'{}' is no list of texts", key);
    return list.get<std::vector<std::string>>();
  };
  const auto is_seeds = [](const Json& list) {
    return list.is_array() && !list.empty() &&
           std::all_of(list.begin(), list.end(), [](const Json& seed) { return seed.is_number_unsigned(); });
  };
  Beginning begun{origin.text("file"),
                  texts("set"),
                  origin.truth("quick"),
                  origin.truth("keep_checkpoints"),
                  origin.count("base_files"),
                  origin.text("hash"),
                  {},
                  {},
                  {}};
  if (origin.has("set_hash"))  // older versions did not write it
    origin.require(origin.text("set_hash") == hash_of_settings(begun.settings),
                   "'set' is not what the study was begun with");
  if (origin.has("reuse") || origin.has("base_hashes")) {  // surd 0.1.0 wrote neither
    begun.reuse = texts("reuse");
    begun.base_hashes = texts("base_hashes");
    origin.require(begun.base_hashes.size() == begun.base_files, "'base_hashes' has {} of {} files",
                   begun.base_hashes.size(), begun.base_files);
  }
  const Json lists = json.value("more_seeds", Json::array());
  origin.require(lists.is_array() && std::all_of(lists.begin(), lists.end(), is_seeds),
                 "'more_seeds' is no list of lists of seeds");
  begun.more_seeds = lists.get<std::vector<std::vector<std::uint64_t>>>();
  begun.retries = origin.has("retries") ? origin.count("retries") : StudyFolder::default_retries;
  if (origin.has("layout")) begun.layout = origin.count("layout");
  expect(begun.layout <= current_layout, folder, "was begun by a newer surd, whose folders this one does not know");
  return begun;
}

bool begin_study(const std::string& folder, const Beginning& begun) {
  return create_whole_file(study_json_file(folder), to_json_text(begun));
}

void write_beginning(const std::string& folder, Beginning begun) {
  while (begun.base_hashes.size() < begun.base_files)  // of a folder of surd 0.1.0, guarded from now on
    begun.base_hashes.push_back(hash_of(read_file(base_copy(folder, begun.base_hashes.size()))));
  write_file_atomically(study_json_file(folder), to_json_text(begun));
}

}  // namespace surd
