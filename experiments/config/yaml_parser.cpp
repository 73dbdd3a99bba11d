#include "experiments/config/yaml_parser.hpp"

#include "autograd/base/utf8.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <utility>

namespace surd {
namespace {

/// Builds the tree from yaml-cpp's events. Working on events instead of YAML::Load, it stops a bomb where it begins,
/// and it sees what the finished nodes no longer show: duplicate keys, anchors, further documents.
class Builder : public YAML::EventHandler {
 public:
  Builder(std::string_view text, const Origin& source, bool with_lines, std::vector<Problem>& problems)
      : text_(text), source_(source), with_lines_(with_lines), problems_(problems) {}

  YamlNode root() { return std::move(root_); }

  /// Finds what yaml-cpp would pass over or misread. Throws ConfigError where nothing sensible can be read.
  void check_bytes() {
    if (text_.size() > YamlLimits::bytes)
      fail(source_, fmt::format("is larger than {} bytes, which no config needs; is it another kind of file?",
                                YamlLimits::bytes));
    YAML::Mark mark;
    mark.line = mark.column = 0;
    bool indentation = true, broken = false, tab = false;
    for (std::size_t i = 0; i < text_.size();) {
      const char c = text_[i];
      const std::size_t length = utf8_length(text_.substr(i));
      if (length == 0) {
        fail(at(mark), fmt::format("is not UTF-8 (byte 0x{:02X}); save or write it as UTF-8", c & 0xFF));
      } else if (c == '\t' && indentation && !tab) {
        add(at(mark), "", "a tab in the indentation; indent with spaces");
        tab = broken = true;
      } else if (c >= 0 && c < ' ' && c != '\t' && c != '\n' && text_.substr(i, 2) != "\r\n") {
        // yaml-cpp takes 0x04 for the end of the file and would silently drop the rest.
        fail(at(mark), fmt::format("a control character (byte 0x{:02X}); remove it, or write it as an escape in double "
                                   "quotes",
                                   c));
      }
      indentation = c == '\n' || (indentation && (c == ' ' || c == '\t'));
      mark.column += static_cast<int>(length);
      if (c == '\n') {
        ++mark.line;
        mark.column = 0;
        tab = false;
      }
      i += length;
    }
    if (broken) throw ConfigError(problems_);
  }

  void parse() {
    std::istringstream in{std::string(text_)};
    YAML::Parser parser(in);
    try {
      while (parser.HandleNextDocument(*this)) {
      }
    } catch (const YAML::Exception& error) {
      if (error.msg == YAML::ErrorMsg::EOF_IN_SCALAR)
        fail(at(error.mark), "a quote before this is never closed; close it or remove it");
      fail(at(error.mark),
           fmt::format("is not valid YAML: {}; check the indentation, brackets and quotes here and on the line before, "
                       "and quote a value that contains ': ' or begins with one of & * ! | > % @ `",
                       error.msg));
    }
  }

 private:
  struct Open {
    YamlNode node;
    std::optional<std::string> key;  // in a mapping: the key that was read and whose value is not complete yet
    Origin key_origin;
    bool keep = true;  // false where the value of the key was refused already
  };

  Origin at(const YAML::Mark& mark) const {
    Origin origin = source_;
    if (with_lines_ && mark.line >= 0) {
      origin.line = static_cast<std::size_t>(mark.line) + 1;
      origin.column = static_cast<std::size_t>(mark.column) + 1;
    }
    return origin;
  }
  void add(Origin origin, std::string path, std::string message) {
    problems_.push_back({std::move(origin), std::move(path), std::move(message)});
  }
  [[noreturn]] void fail(Origin origin, std::string message) {
    add(std::move(origin), path(), std::move(message));
    throw ConfigError(problems_);
  }
  std::string path() const {
    std::string path;
    for (const Open& open : open_) {
      if (open.node.kind == YamlNode::Kind::list)
        path += fmt::format("[{}]", open.node.children.size());
      else if (open.key)
        path += (path.empty() ? "" : ".") + shown(*open.key);
    }
    return path;
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ == 1) return;
    const bool marked = text_.find("\n---") != std::string_view::npos || text_.find("\n...") != std::string_view::npos;
    fail(at(mark), marked
                       ? "a second document begins here; a config is one: remove the '---' or '...' and what follows, "
                         "or make it a file of its own"
                       : "this does not belong to what stands before it; check the brackets and quotes here");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { leaf(mark, anchor, YamlNode{}); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (!open_.empty() && !key_expected()) open_.back().keep = false;
    leaf(mark, anchor, YamlNode{});
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    YamlNode node;
    node.kind = YamlNode::Kind::scalar;
    node.text = value;
    node.quoted = tag != "?";
    refuse_tag(mark, tag);
    check_closed(mark);
    leaf(mark, anchor, std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    begin(mark, tag, anchor, YamlNode::Kind::list);
  }
  void OnSequenceEnd() override { end(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    begin(mark, tag, anchor, YamlNode::Kind::mapping);
  }
  void OnMapEnd() override { end(); }

  bool key_expected() const {
    return !open_.empty() && open_.back().node.kind == YamlNode::Kind::mapping && !open_.back().key;
  }

  void leaf(const YAML::Mark& mark, YAML::anchor_t anchor, YamlNode node) {
    count(mark);
    refuse_anchor(mark, anchor);
    node.origin = at(mark);
    if (key_expected())
      key(mark, node);
    else
      complete(std::move(node));
  }

  void key(const YAML::Mark& mark, const YamlNode& node) {
    if (node.kind != YamlNode::Kind::scalar || node.text.empty())
      fail(at(mark), "a key is missing here: write 'key: value' (quote a key that is called null or ~)");
    Open& mapping = open_.back();
    const YamlNode* first = mapping.node.find(node.text);
    mapping.key = node.text;
    mapping.key_origin = at(mark);
    mapping.keep = first == nullptr && node.text != "<<";
    if (node.text == "<<")
      add(at(mark), path(), "merge keys are not read; write the keys out, or share settings with 'extends: FILE'");
    else if (first != nullptr)
      add(at(mark), path(),
          fmt::format("duplicate key; it already stands {}: remove one of the two",
                      with_lines_ ? fmt::format("on line {}", first->key_origin.line) : "before"));
  }

  void begin(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YamlNode::Kind kind) {
    count(mark);
    if (key_expected())
      fail(at(mark),
           "a key must be a plain name, not a list or a mapping; is a bracket open here that should be closed?");
    if (open_.size() >= YamlLimits::depth)
      fail(at(mark), fmt::format("is nested more than {} levels deep, which no config needs; write it flatter",
                                 YamlLimits::depth));
    refuse_tag(mark, tag);
    refuse_anchor(mark, anchor);
    Open open;
    open.node.kind = kind;
    open.node.origin = at(mark);
    open_.push_back(std::move(open));
  }
  void end() {
    YamlNode node = std::move(open_.back().node);
    open_.pop_back();
    complete(std::move(node));
  }
  void complete(YamlNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = open_.back();
    if (parent.node.kind == YamlNode::Kind::mapping) {
      node.key = *parent.key;
      node.key_origin = parent.key_origin;
      if (node.kind == YamlNode::Kind::null) node.origin = node.key_origin;  // yaml-cpp says where the next key is
      parent.key.reset();
      if (!parent.keep) return;
    }
    parent.node.children.push_back(std::move(node));
  }

  void count(const YAML::Mark& mark) {
    if (++nodes_ > YamlLimits::nodes)
      fail(at(mark), fmt::format("has more than {} values, which no config needs; is it another kind of file?",
                                 YamlLimits::nodes));
  }
  void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    // "!" also stands for a quoted value.
    const bool written =
        tag == "!" ? text_.substr(static_cast<std::size_t>(std::max(mark.pos, 0)), 1) == "!" : tag != "?";
    if (written && !tag.empty()) add(at(mark), path(), "tags (!) are not read; remove it (quotes make a value text)");
  }
  // One message for all of them: a bomb has many.
  void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor == YAML::NullAnchor || anchors_++ > 0) return;
    add(at(mark), path(),
        "anchors (&) and aliases (*) are not read; write the values out, or share settings with 'extends: FILE'");
  }
  // yaml-cpp lets a quote that is never closed run to the end of the file.
  void check_closed(const YAML::Mark& mark) {
    auto i = static_cast<std::size_t>(std::max(mark.pos, 0));
    const char quote = i < text_.size() ? text_[i] : ' ';
    if (quote != '"' && quote != '\'') return;
    const std::string_view escaped = quote == '"' ? "\\" : "''";  // what the character after it belongs to
    for (++i; i < text_.size(); ++i) {
      if (text_.substr(i, escaped.size()) == escaped)
        ++i;
      else if (text_[i] == quote)
        break;
    }
    if (i >= text_.size()) fail(at(mark), "this quote is never closed; close it or remove it");
  }

  std::string_view text_;
  const Origin& source_;
  bool with_lines_;
  std::vector<Problem>& problems_;
  std::vector<Open> open_;
  YamlNode root_;
  std::size_t documents_ = 0, nodes_ = 0, anchors_ = 0;
};

}  // namespace

void check_text(std::string_view text, const Origin& source, std::vector<Problem>& problems, bool with_lines) {
  Builder(text, source, with_lines, problems).check_bytes();
}

YamlNode parse_yaml(std::string_view text, const Origin& source, std::vector<Problem>& problems, bool with_lines) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.substr(0, 3) == byte_order_mark) text.remove_prefix(3);
  Builder builder(text, source, with_lines, problems);
  builder.check_bytes();
  builder.parse();
  return builder.root();
}

}  // namespace surd
