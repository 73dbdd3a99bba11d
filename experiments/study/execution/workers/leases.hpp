#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace surd {

/// Which worker is at which run of a study, on machines that share a folder. It needs no locks, which some file systems
/// refuse and others give to everybody: a worker has a run while the run's lease names it and it lives (Gray and
/// Cheriton, "Leases", SOSP 1989).
///
///     leases/ID       the worker that is at the run or has made it: its name and process
///     workers/NAME    a number that this worker raises as long as it lives; NAME.lease is what its leases link to
///
/// Another worker may take a lease over once that number has not changed for `expiry` by its own clock, so that no two
/// machines' clocks are compared; or, on the same machine, once that process is gone. A worker that slept may then find
/// that its run is another's. So leases save work, and no more: which result counts is decided when it is published.
class Leases {
 public:
  using Seconds = std::chrono::duration<double>;
  /// Seconds since whenever; never goes back.
  using Clock = std::function<Seconds()>;

  /// Joins the workers of the study in `folder`. Throws Error where its file cannot be written.
  explicit Leases(const std::string& folder, Seconds expiry = default_expiry, Clock clock = steady_clock);
  /// Gives back what it has.
  ~Leases();
  Leases(const Leases&) = delete;
  Leases& operator=(const Leases&) = delete;

  static constexpr Seconds default_expiry{120};
  static Seconds steady_clock();

  /// This worker's name: that of its machine, its process and eight random digits.
  const std::string& worker() const { return name_; }

  /// Whether this worker has the run now, which nobody had. Throws Error where its file cannot be written.
  bool take(const std::string& id);
  /// The same for a run of a worker that is gone or has not been heard of for long.
  bool take_over(const std::string& id);
  /// Lets another worker have it.
  void give_back(const std::string& id);
  /// Leaves its lease where it is, because the run has ended: so nobody takes it who has not heard of that yet.
  void settle(const std::string& id) { held_.erase(id); }
  /// To be called often: raises the number when a sixth of `expiry` has gone by. False once another worker has taken
  /// over a lease of this one. Throws Error where its file could not be written for half of `expiry`, or the study was
  /// removed.
  bool renew();
  /// Whether all workers whose leases stood in the way of this one since its clock said `since` were heard of: the
  /// others may be dead, which shows once they have been silent for `expiry`.
  bool heard_of_all(Seconds since) const;
  /// Whether workers of other machines may be alive.
  bool others_are_there();
  Seconds now() const { return clock_(); }
  /// Throws Error where the study was removed: what is written then would make its folder anew.
  void expect_study() const;

 private:
  /// What was seen last of another worker, and when that was new.
  struct Seen {
    std::string text;
    Seconds since, looked;
    bool heard;  ///< it has changed while this one looked
  };

  std::string lease(const std::string& id) const { return folder_ + "/leases/" + id; }
  std::string heartbeat(const std::string& worker) const { return folder_ + "/workers/" + worker; }
  std::string lease_to_link() const { return heartbeat(name_) + ".lease"; }
  void beat();
  bool is_dead(const std::string& owner, const std::string& id);
  /// Looks at what stands for `worker` in `now`; true where that has not changed for `expiry`.
  bool is_silent(const std::string& worker, const std::string& now);
  bool move_away(const std::string& id, const std::string& owner);

  std::string folder_;
  Seconds expiry_;
  Clock clock_;
  std::string host_, name_, text_;  // text_: what its leases hold
  std::size_t beats_ = 0;
  Seconds last_beat_{}, last_written_{};
  std::set<std::string> held_;
  std::map<std::string, Seen> others_;
};

/// Whether a name that Leases gave a worker, with or without what stands behind it, is of this machine.
bool is_of_host(const std::string& worker, const std::string& host);

/// The worker that has the lease of a run which has not ended; nothing where none has, or it is known to be gone; ""
/// where the lease does not name it.
std::optional<std::string> worker_at(const std::string& folder, const std::string& id);

}  // namespace surd
