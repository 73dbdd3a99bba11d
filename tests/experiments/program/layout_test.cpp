#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

/// Each room and what it may include beside itself. A room is a folder; where one lies in another, the inner one
/// counts.
const std::map<std::string, Names> doors = [] {
  std::map<std::string, Names> table = {{"autograd/base", {}},
                                        {"autograd", {"autograd/base"}},
                                        {"layers", {"autograd", "autograd/base"}},
                                        {"data", {"autograd/base"}},
                                        {"train", {"layers", "data", "autograd", "autograd/base"}},
                                        {"experiments/program", {"autograd/base"}},
                                        {"experiments/config", {"experiments/program", "autograd/base"}}};
  // From here on each may include all that come before it.
  Names below;
  for (const auto& [room, allowed] : table) below.push_back(room);
  for (const char* room : {"experiments/run", "experiments/interop", "experiments/study/statistics",
                           "experiments/study/metrics", "experiments/study/file", "experiments/study/execution",
                           "experiments/study/verdicts", "experiments/study/report", "experiments/commands"}) {
    table[room] = below;
    below.emplace_back(room);
  }
  // Beside the tower: runs and studies are not to know it, and it must be compiled once for all of Real.
  table["experiments/command_line"] = {"autograd/base", "experiments/program", "experiments/config"};
  table["experiments/commands"].emplace_back("experiments/command_line");
  table["experiments"] = {"experiments/commands"};  // main.cpp
  return table;
}();

/// The innermost room that a file or header lies in; "" where it is in none.
std::string room_of(std::string path) {
  while (doors.count(path) == 0 && !path.empty()) path.erase(path.find('/') == std::string::npos ? 0 : path.rfind('/'));
  return path;
}

Names own_sources() {
  const fs::path root(SURD_SOURCE_DIR);
  Names files;
  for (const char* floor : {"autograd", "layers", "data", "train", "experiments"})
    for (const auto& entry : fs::recursive_directory_iterator(root / floor))
      if (entry.path().extension() == ".hpp" || entry.path().extension() == ".cpp")
        files.push_back(entry.path().lexically_relative(root).string());
  return files;
}

/// The project's own headers that a file includes: "layers/norm.hpp".
Names own_includes(const std::string& file) {
  Names headers;
  std::ifstream in(fs::path(SURD_SOURCE_DIR) / file);
  const std::string directive = "#include \"";
  for (std::string line; std::getline(in, line);)
    if (line.rfind(directive, 0) == 0)
      headers.push_back(line.substr(directive.size(), line.find('"', directive.size()) - directive.size()));
  return headers;
}

std::string text_of(const std::string& file) {
  std::ifstream in(fs::path(SURD_SOURCE_DIR) / file);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace

TEST_CASE("nobody includes a room above its own") {
  std::map<std::string, std::size_t> files;
  for (const std::string& file : own_sources()) {
    const std::string room = room_of(file);
    ++files[room];
    for (const std::string& header : own_includes(file)) {
      CAPTURE(file);
      CAPTURE(header);
      const std::string target = room_of(header);
      const Names& allowed = doors.at(room);
      CHECK((target == room || std::find(allowed.begin(), allowed.end(), target) != allowed.end()));
    }
  }
  for (const auto& [room, allowed] : doors) {  // or the list has a room that is gone
    CAPTURE(room);
    CHECK(files[room] > 0);
  }
}

TEST_CASE("no folder of sources is too long to read") {
  constexpr std::size_t most = 26;
  std::map<std::string, std::size_t> files;
  for (const std::string& file : own_sources()) ++files[fs::path(file).parent_path().string()];
  files.erase("layers");  // a class a file, all of one kind
  for (const auto& [folder, count] : files) {
    CAPTURE(folder);
    CHECK(count <= most);
  }
}

TEST_CASE("every file of tests is listed, and so built") {
  const std::string end = "_test.cpp";
  const auto is_test = [&](const std::string& name) {
    return name.size() > end.size() && name.substr(name.size() - end.size()) == end;
  };
  std::map<std::string, std::size_t> there, listed;  // by name, which rooms may share
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(SURD_SOURCE_DIR) / "tests")) {
    const fs::path& path = entry.path();
    if (is_test(path.filename().string())) ++there[path.filename().string()];
    if (path.extension() != ".cmake" && path.filename() != "CMakeLists.txt") continue;
    std::string list = text_of(path.lexically_relative(SURD_SOURCE_DIR).string());
    std::replace(list.begin(), list.end(), ')', ' ');
    std::istringstream words(list);
    for (std::string word; words >> word;)
      if (is_test(word)) ++listed[fs::path(word).filename().string()];
  }
  for (const auto& [name, count] : there) {
    CAPTURE(name);
    CHECK(listed[name] == count);
  }
}

TEST_CASE("only experiments knows YAML, and only blas.cpp touches BLAS") {
  for (const std::string& file : own_sources()) {
    const std::string text = text_of(file);
    CAPTURE(file);
    if (file.rfind("experiments/config/", 0) != 0) CHECK(text.find("yaml-cpp/") == std::string::npos);
    if (file != "autograd/blas.cpp") {
      CHECK(text.find("cblas") == std::string::npos);
      CHECK(text.find("xtensor-blas") == std::string::npos);
    }
  }
}

TEST_CASE("one file knows the parsing library") {
  for (const std::string& file : own_sources()) {
    CAPTURE(file);
    const bool parses = file == "experiments/command_line/command_line.cpp";
    CHECK((text_of(file).find("<CLI/") != std::string::npos) == parses);
  }
}
