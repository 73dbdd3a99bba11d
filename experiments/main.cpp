#include "experiments/command_line.hpp"

int main(int argc, char** argv) { return surd::run_command_line(argc, argv); }
