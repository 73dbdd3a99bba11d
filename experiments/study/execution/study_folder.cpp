#include "experiments/study/execution/study_folder.hpp"

#include "experiments/config/settings.hpp"
#include "experiments/config/yaml_document.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/program/usage_error.hpp"
#include "experiments/study/execution/run_files.hpp"
#include "experiments/study/execution/study_json.hpp"
#include "experiments/study/execution/workers/leases.hpp"
#include "train/storage/files.hpp"
#include "train/storage/hash.hpp"

#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <thread>
#include <utility>

namespace surd {
namespace {

namespace fs = std::filesystem;
bool is_seed(const std::string& name) {
  constexpr std::string_view prefix = "seed-";
  return name.size() > prefix.size() && name.rfind(prefix, 0) == 0 &&
         name.find_first_not_of("0123456789", prefix.size()) == std::string::npos;
}

/// Calls f(id) for each folder of a run beneath `runs`, which are those called seed-N. Throws Error where a file is
/// called so.
void for_each_run(const std::string& runs, const std::function<void(const std::string&)>& f) {
  expect(!path_exists(runs) || is_folder(runs), runs, "is a file where the folder of the runs belongs; remove it");
  std::error_code error, gone;
  for (auto entry = fs::recursive_directory_iterator(runs, fs::directory_options::follow_directory_symlink, error);
       !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const bool folder = entry->is_directory(gone), there = entry->exists(gone);
    if (!is_seed(name)) continue;  // whatever lies beside them is not the study's
    expect(folder || (!there && !entry->is_symlink(gone)), entry->path().string(),
           "is a file where the folder of a run belongs; remove it, and the run is made");
    if (!folder) continue;
    entry.disable_recursion_pending();
    f(entry->path().lexically_relative(runs).generic_string());
  }
  // A list that breaks off would be taken for a short one.
  expect(!error || !path_exists(runs), runs, "cannot be listed: {}; mend the access rights of what is in it",
         error.message());
}

/// Whoever has it may change study.json.
class Guard {
 public:
  /// Waits for another process that has it, or until that has not been heard of for long.
  explicit Guard(const StudyFolder& folder) : leases_(folder.path()) {
    const Leases::Seconds most = 1.5 * Leases::default_expiry, begin = Leases::steady_clock();
    bool told = false;
    while (!leases_.take("study.json") && !leases_.take_over("study.json")) {
      const Leases::Seconds waited = Leases::steady_clock() - begin;
      expect_usage(waited < most, folder.path(), "is being changed by another process; try again");
      if (!told && waited > Leases::Seconds(1))
        to_stderr("{}: waiting for another process that changes it, at most {:.0f} s\n", folder.path(), most.count());
      told = told || waited > Leases::Seconds(1);
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }

 private:
  Leases leases_;
};

/// Throws UsageError where no study was begun in a folder.
void expect_begun(const StudyFolder& folder) {
  if (folder.begun()) return;
  expect_usage(!path_exists(folder.published_page()), folder.path(),
               "holds published results, without the runs; surd study report writes their page");
  expect_usage(!is_file(folder.path()), folder.path(),
               "is a file; name the folder that was the --out of a surd study run");
  std::vector<std::string> studies;
  for (const std::string& name : names_in(folder.path()))
    if (StudyFolder(folder.path() + "/" + name).begun()) studies.push_back(name);
  expect_usage(studies.empty(), folder.path(), "is the folder of a group of studies; name one of them in it: {}",
               fmt::join(studies, ", "));
  throw UsageError(folder.path() +
                   ": is not the folder of a study: it has no study.json; name the --out of a surd study run");
}

/// What a study is read from, guarded by its hashes.
StudySource source_of(const StudyFolder& folder, const Beginning& begun) {
  StudySource source{folder.study_file(), begun.settings, begun.quick, {}, true};
  const auto expect_unchanged = [](const std::string& file, const std::string& hash) {
    expect(path_exists(file), file, "is missing, and the study's runs belong to what it was; put it back");
    expect(hash_of(read_file(file)) == hash, file,
           "was changed after the study was begun, and its runs belong to what it was; put it back");
  };
  expect_unchanged(folder.study_file(), begun.hash);
  for (std::size_t i = 0; i < begun.base_files; ++i) {
    const std::string copy = base_copy(folder.path(), i);
    if (i < begun.base_hashes.size()) expect_unchanged(copy, begun.base_hashes[i]);
    source.base_copies.emplace_back(copy);
  }
  return source;
}

/// The study with the seeds that it was extended by.
Study study_of(const StudyFolder& folder, const Beginning& begun) {
  Study study = load_study(source_of(folder, begun));
  const std::string file = study_json_file(folder.path());
  expect(begun.more_seeds.size() < study.looks, file,
         "'more_seeds' has as many lists as the study has looks, or more; {}", damaged_study_json);
  for (const std::vector<std::uint64_t>& more : begun.more_seeds) {
    for (const std::uint64_t seed : more) {
      const auto in = [&](const std::vector<std::uint64_t>& seeds) {
        return std::count(seeds.begin(), seeds.end(), seed);
      };
      expect(in(study.seeds) == 0 && (!study.tuning || in(study.tuning->seeds) == 0), file,
             "'more_seeds' has the seed {}, which the study has already; {}", seed, damaged_study_json);
      study.seeds.push_back(seed);
    }
  }
  return study;
}

/// Everything that makes a study what it is, by path in its file: its keys, its base config with what that extends, and
/// --quick. Two studies with the same content are the same.
Settings content(const fs::path& file, const Study& study, const StudySource& source) {
  YamlNode root = YamlDocument::load(file).root();
  if (YamlNode* base = root.find("base")) *base = YamlNode();
  Settings all = settings_of(root);
  all.erase("");
  for (const auto& [key, value] : settings_of(study.base.root())) all["base." + key] = value;
  all["--quick"] = source.quick ? "yes" : "no";
  return all;
}

}  // namespace

bool StudyFolder::begun() const { return path_exists(study_json_file(path_)); }

bool StudyFolder::only_prepared() const {
  if (begun()) return false;
  for (const std::string& name : names_in(path_))
    if (name != "study.yaml" && !is_temporary_file(name, study_file()) && name != "base" &&
        !is_temporary_file(name, study_json_file(path_)) && (name != "runs" || !names_in(runs()).empty()) &&
        name != "leases" && name != "workers")
      return false;
  return true;
}

void StudyFolder::freeze(const StudySource& source, const Study& study, bool keep_checkpoints,
                         const std::vector<std::string>& reuse, std::size_t retries) const {
  make_folders(base_folder(path_));
  make_folders(runs());
  const Guard guard(*this);
  const auto expect_first = [&](bool first) {
    expect_usage(first, path_, "another process has just begun a study in this folder; name another one by --out");
  };
  expect_first(!begun());
  const std::string study_text = read_file(source.file.string());
  write_file_atomically(study_file(), study_text);
  std::vector<std::string> hashes;
  for (const fs::path& file : study.base.extended_files()) {
    const std::string text = read_file(file.string());
    write_file_atomically(base_copy(path_, hashes.size()), text);
    hashes.push_back(hash_of(text));
  }
  // A file server may have said for a while that study.json is not there.
  expect_first(begin_study(path_, {fs::absolute(source.file).lexically_normal().string(),
                                   source.settings,
                                   source.quick,
                                   keep_checkpoints,
                                   hashes.size(),
                                   hash_of(study_text),
                                   hashes,
                                   reuse,
                                   {},
                                   retries,
                                   current_layout}));
}

StudySource StudyFolder::source() const {
  expect_begun(*this);
  return source_of(*this, read_beginning(path_));
}

Study StudyFolder::study() const {
  expect_begun(*this);
  return study_of(*this, read_beginning(path_));
}

std::vector<std::vector<std::uint64_t>> StudyFolder::extensions() const { return read_beginning(path_).more_seeds; }

void StudyFolder::extend(std::size_t seeds) const {
  expect_begun(*this);
  const Guard guard(*this);
  Beginning begun = read_beginning(path_);
  const Study before = study_of(*this, begun);
  expect_usage(
      begun.more_seeds.size() + 1 < before.looks, path_,
      "its verdicts may be taken {}, which is used up, and its p values are not corrected for another look; "
      "begin a study with other seeds (from {}), and with 'looks' if it may have to be extended (what is left of the "
      "runs it has: surd study work {})",
      before.looks == 1 ? "once" : fmt::format("{} times", before.looks), before.fresh_seeds(1).front(),
      shell_word(path_));
  begun.more_seeds.push_back(before.fresh_seeds(seeds));
  write_beginning(path_, begun);
}

std::string StudyFolder::begun_from() const { return read_beginning(path_).file; }

bool StudyFolder::keep_checkpoints() const { return read_beginning(path_).keep_checkpoints; }

std::size_t StudyFolder::retries() const { return read_beginning(path_).retries; }

std::vector<std::string> StudyFolder::reuse() const { return read_beginning(path_).reuse; }

void StudyFolder::add_reuse(const std::vector<std::string>& folders) const {
  const Guard guard(*this);
  Beginning begun = read_beginning(path_);
  for (const std::string& folder : folders)
    if (std::find(begun.reuse.begin(), begun.reuse.end(), folder) == begun.reuse.end()) begun.reuse.push_back(folder);
  write_beginning(path_, begun);
}

std::string StudyFolder::difference(const Study& other, const StudySource& other_source) const {
  const StudySource frozen = source();
  return surd::difference(content(frozen.file, load_study(frozen), frozen),
                          content(other_source.file, other, other_source));
}

bool StudyFolder::ended(const std::string& id) const { return path_exists(outcome(id)); }

std::unordered_set<std::string> StudyFolder::ended() const {
  std::unordered_set<std::string> ids;
  // Of surd 0.1.0 the folder of a run was there before it ended.
  const bool all = !begun() || read_beginning(path_).layout >= current_layout;
  for_each_run(runs(), [&](const std::string& id) {
    if (all || ended(id)) ids.insert(id);
  });
  return ids;
}

std::vector<Fingerprint> StudyFolder::data_read() const {
  std::vector<Fingerprint> read;
  for (const std::string& name : is_folder(data()) ? names_in(data()) : std::vector<std::string>()) {
    if (name.find('.') != std::string::npos) continue;  // one that is being written
    const std::string file = data() + "/" + name + "/data.json";
    read.push_back(parse_fingerprint(read_file(file), file));
  }
  return read;
}

void StudyFolder::upgrade() const {
  Beginning begun = read_beginning(path_);
  if (begun.layout >= current_layout) return;
  const Guard guard(*this);
  begun = read_beginning(path_);
  if (begun.layout >= current_layout) return;
  std::vector<std::string> unfinished;
  for_each_run(runs(), [&](const std::string& id) {
    if (!ended(id)) unfinished.push_back(id);
  });
  const auto is_free = [](const std::string& claim) {
    try {
      return File(claim, O_RDWR).lock();
    } catch (const Error&) {  // nor does surd 0.1.0 work where there are no locks
      return true;
    }
  };
  for (const std::string& id : unfinished) {
    const std::string claim = run(id) + ".claim";
    expect(!path_exists(claim) || is_free(claim), run(id), "is being made by a worker of surd 0.1.0; stop that first");
    make_folders(attempts(id));
    rename_folder(run(id), attempts(id) + "/surd-0.1.0");
    remove_quietly(claim);
  }
  begun.layout = current_layout;
  write_beginning(path_, begun);
}

void StudyFolder::tidy() const {
  for (const char* name : {"/attempts", "/leases", "/workers"}) remove_quietly(path_ + name);
}

std::size_t StudyFolder::retry_failed() const {
  std::size_t count = 0;
  for (const std::string& id : ended()) {
    if (read_outcome(run(id)).status != RunResult::Status::failed) continue;
    // Its new name is that of no attempt, so that it counts for nothing, and its log can be read.
    make_folders(path_ + "/failed/" + fs::path(id).parent_path().string());
    std::string to;
    for (std::size_t number = 1; to.empty() || path_exists(to); ++number)
      to = fmt::format("{}/failed/{}.{}", path_, id, number);
    count += rename_folder(run(id), to);
    remove_quietly(path_ + "/leases/" + id);
  }
  return count;
}

}  // namespace surd
