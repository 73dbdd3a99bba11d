#include "experiments/program/stop_signals.hpp"

#include <unistd.h>

namespace surd {
namespace {

volatile sig_atomic_t noted = 0;
volatile sig_atomic_t parent_alone = 0;

void note(int signal, siginfo_t* from, void*);

void handle(bool with_note) {
  struct sigaction action = {};
  if (with_note) {
    action.sa_sigaction = note;
    action.sa_flags = SA_RESTART | SA_SIGINFO;
  } else {
    action.sa_handler = SIG_DFL;
  }
  sigemptyset(&action.sa_mask);
  for (const int signal : stop_signals) sigaction(signal, &action, nullptr);
}

void note(int signal, siginfo_t* from, void*) {
  if (parent_alone != 0 && from->si_pid != getppid()) return;
  handle(false);                  // for all of them: a person who sends a second one, of any kind, wants an end
  if (noted != 0) raise(signal);  // it came before the first one was noted
  noted = signal;
}

}  // namespace

StopSignals::StopSignals() {
  noted = 0;
  handle(true);
}
StopSignals::~StopSignals() { handle(false); }
void StopSignals::only_from_parent() { parent_alone = 1; }
int StopSignals::received() const { return noted; }

}  // namespace surd
