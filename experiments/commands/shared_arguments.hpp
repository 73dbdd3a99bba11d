#pragma once

#include "experiments/command_line/arguments.hpp"

#include <optional>
#include <string>

/// Arguments that several commands have. A command with more of them derives from these.
namespace surd {

/// A config file, and the settings that override it.
struct ConfigArguments {
  std::string config;
  Texts settings;  ///< "a.b.c=value"

  void fields(Fields& f) {
    f("config", config, "a YAML file");
    f("set", settings, "a setting over the file's, e.g. model.d_model=128", Unit{"key=value"});
  }
};

/// A run, and which of its checkpoints to use.
struct RunArguments {
  std::string run;
  std::string checkpoint = "best";

  void fields(Fields& f) {
    f("run", run, "folder of a run");
    f("checkpoint", checkpoint, "best, last, average or a .safetensors file", Unit{"checkpoint"});
  }
};

/// A study that is to be run, and how.
struct StudyFileArguments {
  std::string file;
  Texts settings;  ///< "a.b.c=value"
  bool quick = false;

  void fields(Fields& f) {
    f("study", file, "a study file, or one of a group of studies");
    f("set", settings, "a setting over the base config, e.g. model.d_model=128", Unit{"key=value"});
    f("quick", quick, "cut down as the study says, to try it");
  }
};

struct GroupFolderArguments {
  std::string folder;

  void fields(Fields& f) { f("folder", folder, "folder of a study, or of a group of studies"); }
};

struct StudyFolderArguments {
  std::string folder;

  void fields(Fields& f) { f("folder", folder, "folder of a study"); }
};

}  // namespace surd
