#include "experiments/study/execution/workers/leases.hpp"

#include "autograd/base/error.hpp"
#include "experiments/program/host_name.hpp"
#include "experiments/study/execution/study_json.hpp"
#include "train/storage/files.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <random>
#include <sstream>
#include <utility>
#include <vector>

namespace surd {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// The text of a file that another process may remove or replace meanwhile; "" where it is not there.
std::string text_if_there(const std::string& path) {
  try {
    return read_file(path);
  } catch (const Error&) {
    return "";
  }
}

/// What tells this machine, since it was started, from every other; a container has its own numbers of processes. ""
/// where the system does not say.
std::string machine() {
  const std::string boot = text_if_there("/proc/sys/kernel/random/boot_id");
  std::error_code error;
  const std::string processes = fs::read_symlink("/proc/self/ns/pid", error).string();
  return boot.empty() || error ? "" : boot.substr(0, boot.find('\n')) + " " + processes;
}

/// When a process of this machine was started, in ticks since the machine was; "" where there is none, or it has ended
/// and only waits for its parent to notice. Ids of processes are used again, these pairs are not.
std::string start_of_process(std::int64_t pid) {
  const std::string stat = text_if_there(fmt::format("/proc/{}/stat", pid));
  const std::size_t end_of_name = stat.rfind(')');  // the name may hold anything; see proc(5)
  if (end_of_name == std::string::npos) return "";
  std::istringstream fields(stat.substr(end_of_name + 1));
  const std::vector<std::string> words{std::istream_iterator<std::string>(fields), {}};
  constexpr std::size_t state = 0, start = 19;
  if (words.size() <= start || words[state] == "Z" || words[state] == "X") return "";
  return words[start];
}

/// Who has a lease. All is empty where it was not written to its end, or was damaged.
struct Owner {
  std::string worker, machine, started;
  std::int64_t pid = 0;
};

Owner owner_of(const std::string& lease) {
  try {
    const Json json = Json::parse(lease);
    return {json.at("worker"), json.at("machine"), json.at("started"), json.at("pid")};
  } catch (const Json::exception&) {
    return {};
  }
}

/// Whether it is a process of this machine that is gone.
bool is_gone(const Owner& owner) {
  if (owner.machine.empty() || owner.machine != machine()) return false;
  const std::string started = start_of_process(owner.pid);
  // Where the system hides the processes of other users, only their heartbeats tell.
  const bool hidden = started.empty() && ::kill(static_cast<pid_t>(owner.pid), 0) != 0 && errno == EPERM;
  return !hidden && started != owner.started;
}

}  // namespace

bool is_of_host(const std::string& worker, const std::string& host) {
  // Behind it stand a process and eight digits, and a host may have a '-' in its name.
  const std::size_t digits = worker.rfind('-');
  const std::size_t process =
      digits == std::string::npos || digits == 0 ? std::string::npos : worker.rfind('-', digits - 1);
  return process != std::string::npos && worker.substr(0, process) == host;
}

Leases::Seconds Leases::steady_clock() { return std::chrono::steady_clock::now().time_since_epoch(); }

Leases::Leases(const std::string& folder, Seconds expiry, Clock clock)
    : folder_(folder), expiry_(expiry), clock_(std::move(clock)) {
  std::random_device chance;
  host_ = host_name();
  name_ = fmt::format("{}-{}-{:08x}", host_, ::getpid(), chance());
  text_ =
      Json{{"worker", name_}, {"pid", ::getpid()}, {"started", start_of_process(::getpid())}, {"machine", machine()}}
          .dump() +
      "\n";
  beat();
  create_file(lease_to_link(), text_);
}

Leases::~Leases() {
  for (const std::string& id : std::exchange(held_, {})) give_back(id);
  std::remove(lease_to_link().c_str());
  std::remove(heartbeat(name_).c_str());
}

void Leases::beat() {
  last_beat_ = clock_();
  make_folders(folder_ + "/workers");
  write_file_atomically(heartbeat(name_), fmt::format("{}\n", ++beats_));
  last_written_ = last_beat_;
}

bool Leases::renew() {
  if (clock_() - last_beat_ < expiry_ / 6) return true;
  expect_study();
  try {
    beat();
  } catch (const Error&) {  // which may pass before anybody takes this worker for dead
    if (clock_() - last_written_ > expiry_ / 2) throw;
  }
  return std::none_of(held_.begin(), held_.end(), [&](const auto& id) {
    const std::string owner = text_if_there(lease(id));
    return !owner.empty() && owner != text_;  // one that cannot be read just now is no one else's
  });
}

void Leases::expect_study() const {
  expect(path_exists(study_json_file(folder_)), folder_, "has no study.json any more: was the study's folder removed?");
}

bool Leases::take(const std::string& id) {
  make_folders(fs::path(lease(id)).parent_path());
  // A link appears with its text. Where there are none, the file is empty for a moment, and remains so if this worker
  // dies then.
  const bool linked = ::link(lease_to_link().c_str(), lease(id).c_str()) == 0;
  const bool taken = linked || (errno != EEXIST && create_file(lease(id), text_));
  if (taken) {
    held_.insert(id);
    others_.erase(id);
  }
  return taken;
}

bool Leases::take_over(const std::string& id) {
  const std::string owner = text_if_there(lease(id));
  const bool own = owner == text_;  // the answer was lost when it was taken
  if (!own && !(is_dead(owner, id) && move_away(id, owner))) return false;
  if (own) held_.insert(id);
  return own || take(id);
}

void Leases::give_back(const std::string& id) {
  held_.erase(id);
  if (text_if_there(lease(id)) == text_) std::remove(lease(id).c_str());
}

bool Leases::is_dead(const std::string& owner, const std::string& id) {
  const Owner read = owner_of(owner);
  // One that died before it wrote its name has no heartbeat; only a lease that stays as it is counts as old.
  const bool named = !read.worker.empty();
  const std::string worker = named ? read.worker : id;
  const std::string now = named ? text_if_there(heartbeat(worker)) : owner;
  const bool silent = is_silent(worker, now);
  if (read.machine != machine()) return silent;
  const bool gone = is_gone(read);
  others_.at(worker).heard |= !gone;
  return silent || gone;
}

bool Leases::is_silent(const std::string& worker, const std::string& now) {
  auto seen = others_.find(worker);
  const Seconds time = clock_();
  // Where this process slept, or the file server did, nobody could be heard of.
  const bool first = seen == others_.end(), slept = !first && time - seen->second.looked > expiry_;
  if (first || seen->second.text != now || slept)
    seen = others_.insert_or_assign(worker, Seen{now, time, time, !first && !slept}).first;
  seen->second.looked = time;
  return time - seen->second.since >= expiry_;
}

bool Leases::heard_of_all(Seconds since) const {
  return std::all_of(others_.begin(), others_.end(),
                     [&](const auto& other) { return other.second.heard || other.second.looked < since; });
}

bool Leases::others_are_there() {
  bool there = false;
  for (const std::string& worker : names_in(folder_ + "/workers")) {
    const bool heartbeat_file = fs::path(worker).extension() != ".lease" && fs::path(worker).extension() != ".void";
    if (heartbeat_file && !is_of_host(worker, host_)) there |= !is_silent(worker, text_if_there(heartbeat(worker)));
  }
  return there;
}

/// Of all that want to take a lease over one moves it away, and the others find nothing to move.
bool Leases::move_away(const std::string& id, const std::string& owner) {
  const std::string away = heartbeat(name_) + ".void";
  if (std::rename(lease(id).c_str(), away.c_str()) != 0) return false;
  const std::string moved = text_if_there(away);
  const bool meant = moved == owner;
  // Somebody was faster, and this is the new owner's lease.
  if (!meant) create_file(lease(id), moved);
  std::remove(away.c_str());
  return meant;
}

std::optional<std::string> worker_at(const std::string& folder, const std::string& id) {
  const std::string lease = text_if_there(folder + "/leases/" + id);
  if (lease.empty()) return std::nullopt;
  const Owner owner = owner_of(lease);
  return is_gone(owner) ? std::nullopt : std::optional(owner.worker);
}

}  // namespace surd
