#include "experiments/program/stop_signals.hpp"

namespace surd {
namespace {

volatile sig_atomic_t noted = 0;

void handle(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int signal : stop_signals) sigaction(signal, &action, nullptr);
}

void note(int signal) {
  handle(SIG_DFL);                // for all of them: a person who sends a second one, of any kind, wants an end
  if (noted != 0) raise(signal);  // it came before the first one was noted
  noted = signal;
}

}  // namespace

StopSignals::StopSignals() {
  noted = 0;
  handle(note);
}
StopSignals::~StopSignals() { handle(SIG_DFL); }
int StopSignals::received() const { return noted; }

}  // namespace surd
