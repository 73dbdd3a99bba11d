#include "../../data/temporary_directory.hpp"
#include "../program.hpp"
#include "experiments/commands/all_commands.hpp"
#include "experiments/commands/shell/completion.hpp"
#include "experiments/commands/shell/man_pages.hpp"
#include "experiments/program/exit_code.hpp"
#include "train/storage/files.hpp"

#include <doctest/doctest.h>

#include <set>
#include <sstream>

using namespace surd;
using namespace surd::test;

namespace {

using Offers = std::set<std::string>;

struct SignArguments {
  Texts lines;
  std::string key;

  void fields(Fields& f) {
    f("lines", lines, "what 'the sign' says: -x or \\x");
    f("key", key, ".hidden key; the rest is not for a menu", Unit{"file"});
  }
};
int put_sign(const SignArguments&) { return exit_done; }

/// The commands of another program.
CommandTable signs() {
  CommandTable table;
  table.add_group("put", "Put up signs");
  table.add("put sign", "Write \"text\" on a sign: all of it", {"lines"}, put_sign);
  table.add("rest", "Rest", {}, put_sign);
  return table;
}

/// What bash offers for the last of these words, in a folder. `script`: where the completion's script is.
Offers offered(const std::string& script, const std::string& words, const std::string& folder = ".",
               const std::string& function = "_surd") {
  const Outcome outcome =
      shell("cd " + folder + " && bash -c 'source " + script + "; COMP_WORDS=(" + words +
            "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); " + function + "; printf \"%s\\n\" \"${COMPREPLY[@]}\"'");
  CHECK(outcome.exit_code == 0);
  Offers result;
  std::istringstream lines(outcome.output);
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) result.insert(line);
  return result;
}

bool is_here(const std::string& name) { return shell("command -v " + name).exit_code == 0; }

}  // namespace

TEST_CASE("bash completes commands, options, words, keys, folders and files") {
  const TemporaryDirectory folder;
  const std::string script = folder.path("surd.bash");
  REQUIRE(program("completion bash > " + script).exit_code == 0);
  make_folders(folder.path("runs/one"));
  folder.write("runs.txt", "");
  struct Case {
    const char* words;
    Offers expected;
  };
  for (const Case& at : std::vector<Case>{
           {"surd trai", {"train"}},
           {"surd stud", {"study"}},
           {"surd --ver", {"--version"}},
           {"surd study stat", {"status"}},
           {"surd study --he", {"--help"}},
           {"surd completion \"\"", {"bash", "zsh"}},
           {"surd completion bash \"\"", {}},
           {"surd train --ran", {"--ranks", "--rank-timeout"}},
           {"surd study status --js", {"--json"}},
           {"surd translate runs/one --normalization \"\"", {"gnmt", "fairseq"}},
           {"surd translate --normalization = f", {"fairseq"}},  // bash hands --normalization=f over like this
           {"surd train --replicas \"\"", {}},
           {"surd train a.yaml --set train.upd", {"train.updates="}},
           {"surd train a.yaml --set = train.upd", {"train.updates="}},
           {"surd train --set train.updates =", {}},
           {"surd train --set train.updates = 1 --resu", {"--resume"}},
           {"surd config reference model.d_m", {"model.d_model"}},
           {"surd config reference model.attention.sc", {"model.attention.scale", "model.attention.score_cap"}},
           {"surd train run", {"runs", "runs.txt"}},
           {"surd eval run", {"runs"}},
           {"surd eval runs/", {"runs/one"}},
           {"surd eval runs/one run", {}},
           {"surd compare runs/one run", {"runs"}},
           {"surd eval runs/one --checkpoint l", {"last"}},
           {"surd eval runs/one --checkpoint a", {"average"}},
           {"surd average runs/one --checkpoint run", {"runs", "runs.txt"}},
           {"surd train --out run", {"runs"}},
           {"surd train --out = run", {"runs"}},
           {"surd nosuch \"\"", {}}}) {
    CAPTURE(at.words);
    const Offers words = offered(script, at.words, folder.path());
    std::string shown;
    for (const std::string& word : words) shown += word + " ";
    CAPTURE(shown);
    CHECK(words == at.expected);
  }
}

TEST_CASE("a program of one's own completes its commands") {
  const TemporaryDirectory folder;
  const std::string script = folder.write("script", bash_completion(signs(), "my-signs"));
  CHECK(offered(script, "my-signs \"\"", ".", "_my_signs") == Offers{"put", "rest", "--help", "--version"});
  CHECK(offered(script, "my-signs put \"\"", ".", "_my_signs") == Offers{"sign", "--help"});
  CHECK(offered(script, "my-signs put sign a --k", ".", "_my_signs") == Offers{"--key"});
  CHECK(offered(script, "my-signs rest scr", folder.path(), "_my_signs").empty());
  CHECK(offered(script, "my-signs rest --key scr", folder.path(), "_my_signs") == Offers{"script"});

  CommandTable none;
  none.add("rest", "Rest", {}, put_sign);
  CHECK(offered(folder.write("none", bash_completion(none, "none")), "none re", ".", "_none") == Offers{"rest"});
}

TEST_CASE("zsh reads its script") {
  const std::string script = zsh_completion(signs(), "my-signs");
  CHECK(contains(script, "#compdef my-signs\n"));
  CHECK(contains(script, "'sign:Write \"text\" on a sign\\: all of it'"));
  CHECK(contains(script, "'--key=[.hidden key]:FILE:_files'"));
  CHECK(contains(script, "'*:LINES:_files'"));
  if (!is_here("zsh")) {
    MESSAGE("skipped: there is no zsh to read the scripts");
    return;
  }
  const TemporaryDirectory folder;
  for (const std::string& path :
       {folder.write("_my_signs", script), folder.write("_surd", program("completion zsh").output)}) {
    const Outcome read = shell("zsh -n " + path);
    CAPTURE(read.output);
    CHECK(read.exit_code == 0);
    CHECK(read.output.empty());
  }
}

TEST_CASE("every command has a page for man, in which nothing is taken for a request") {
  const std::vector<ManPage> pages = man_pages(commands(), "surd");
  REQUIRE(pages.size() == commands().rows().size() + 1);
  for (const ManPage& page : pages) {
    CAPTURE(page.name);
    std::size_t at = 0;
    for (const char* section : {"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "SEE ALSO"}) {
      CAPTURE(section);
      const std::size_t found = page.text.find(std::string(".SH ") + section + "\n");
      REQUIRE(found != std::string::npos);
      CHECK(found > at);
      at = found;
    }
    std::istringstream lines(page.text);
    for (std::string line; std::getline(lines, line);) {
      CAPTURE(line);
      REQUIRE_FALSE(line.empty());
      CHECK(line.front() != '\'');
      CHECK(line.front() != ' ');
      if (line.front() == '.')
        CHECK(std::set<std::string>{".TH", ".nh", ".ad", ".SH", ".SS", ".TP"}.count(line.substr(0, 3)) == 1);
    }
  }
  CHECK(contains(pages.front().text, ".SS Train a model and use it\n.TP\n\\fBsurd train\\fR\nTrain a model\n"));
  CHECK(contains(pages.front().text, "\\fBsurd\\-study\\-run\\fR(1),\n"));
  for (const ExitMeaning& entry : exit_meanings) CHECK(contains(pages.back().text, "\n\\fB" + std::string(entry.code)));

  const std::string text = man_pages(signs(), "my-signs").at(1).text;
  CHECK(contains(text, "my\\-signs\\-put\\-sign \\- Write \\(dqtext\\(dq on a sign: all of it\n"));
  CHECK(contains(text, ".SH SYNOPSIS\n\\fBmy\\-signs put sign\\fR [OPTIONS] LINES...\n"));
  CHECK(contains(text, ".TP\n\\fILINES...\\fR\nwhat \\(aqthe sign\\(aq says: \\-x or \\(rsx\n"));
  CHECK(contains(text, ".TP\n\\fB\\-\\-key\\fR \\fIFILE\\fR\n\\&.hidden key; the rest is not for a menu\n"));
}

TEST_CASE("surd commands --man writes pages that groff has no complaint about") {
  const TemporaryDirectory folder;
  const std::string man = folder.path("share/man/man1");
  const Outcome written = program("commands --man " + man);
  CHECK(written.exit_code == 0);
  CHECK(written.output.empty());
  CHECK(names_in(man).size() == commands().rows().size() + 1);
  CHECK(contains(read_file(man + "/surd-study-run.1"), "surd\\-study\\-run \\- Make every run of a study\n"));
  const Outcome both = program("commands --markdown --man " + man);
  CHECK(both.exit_code == 2);
  CHECK(contains(both.output, "error: --man: is given beside --markdown; give one of them"));
  if (!is_here("groff")) {
    MESSAGE("skipped: there is no groff to set the pages");
    return;
  }
  const Outcome set = shell("groff -man -Kutf8 -Tutf8 -wall -wmac -z " + man + "/*.1");
  CHECK(set.output == "");
  CHECK(set.exit_code == 0);
  CHECK(contains(shell("groff -man -Kutf8 -Tascii -P-cbou " + man + "/surd-train.1").output, "--set KEY=VALUE"));
}
