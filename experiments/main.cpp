#include "experiments/commands/all_commands.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

int main(int argc, char** argv) {
  // A standard stream that was closed would give its number to the next file, and messages would go into that. Results
  // that nobody can read are an error, so standard output must not take them.
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) < 0) open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY);
  // Whoever started this process may have said not to be told of the end of its children, which this one asks for.
  signal(SIGCHLD, SIG_DFL);
  return surd::run_command_line(argc, argv);
}
