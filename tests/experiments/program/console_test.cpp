#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

/// The rooms each room may include headers of. data/ has a narrower door still: see below.
const std::map<std::string, std::set<std::string>> doors = {
    {"autograd", {"autograd"}},
    {"layers", {"layers", "autograd"}},
    {"data", {"data", "autograd"}},
    {"train", {"train", "layers", "data", "autograd"}},
    {"experiments", {"experiments", "train", "layers", "data", "autograd"}},
};
const std::set<std::string> base_headers = {"autograd/base/error.hpp", "autograd/base/fields.hpp",
                                            "autograd/base/random.hpp", "autograd/base/registry.hpp",
                                            "autograd/base/utf8.hpp"};

/// The project's own headers that a file includes: "layers/norm.hpp".
std::vector<std::string> own_includes(const fs::path& file) {
  std::vector<std::string> headers;
  std::ifstream in(file);
  const std::string directive = "#include \"";
  for (std::string line; std::getline(in, line);)
    if (line.rfind(directive, 0) == 0)
      headers.push_back(line.substr(directive.size(), line.find('"', directive.size()) - directive.size()));
  return headers;
}

std::vector<fs::path> sources(const std::string& room) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(SURD_SOURCE_DIR) / room))
    if (entry.path().extension() == ".hpp" || entry.path().extension() == ".cpp") files.push_back(entry.path());
  return files;
}

}  // namespace

TEST_CASE("nobody includes a room above its own") {
  for (const auto& [room, allowed] : doors) {
    const auto files = sources(room);
    REQUIRE(files.size() > 3);
    for (const fs::path& file : files) {
      for (const std::string& header : own_includes(file)) {
        CAPTURE(file.string());
        CAPTURE(header);
        CHECK(allowed.count(header.substr(0, header.find('/'))) == 1);
        if (room == "data" && header.rfind("autograd/", 0) == 0) CHECK(base_headers.count(header) == 1);
      }
    }
  }
}

TEST_CASE("only experiments knows YAML, and only blas.cpp touches BLAS") {
  for (const auto& [room, allowed] : doors) {
    for (const fs::path& file : sources(room)) {
      std::ifstream in(file);
      const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
      CAPTURE(file.string());
      if (room != "experiments") CHECK(text.find("yaml-cpp") == std::string::npos);
      if (file.filename() != "blas.cpp") {
        CHECK(text.find("cblas") == std::string::npos);
        CHECK(text.find("xtensor-blas") == std::string::npos);
      }
    }
  }
}
