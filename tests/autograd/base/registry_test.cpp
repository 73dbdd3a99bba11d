#include "autograd/base/registry.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

namespace surd {
namespace {

struct Shape2 {
  virtual ~Shape2() = default;
  virtual double area() const = 0;
};

struct Square : Shape2 {
  struct Options {
    double side = 2;
    void fields(Fields& f) { f("side", side, "length of a side", above(0)); }
  };
  Square(double factor, const Options& options) : area_(factor * options.side * options.side) {}
  double area() const override { return area_; }
  double area_;
};

struct Nothing : Shape2 {
  struct Options {
    void fields(Fields&) {}
  };
  Nothing(double, const Options&) {}
  double area() const override { return 0; }
};

using Table = Registry<Shape2(double)>;
using ShapeChoice = Choice<Shape2(double)>;

Table make_table() {
  Table table("shape");
  table.add<Square>("square", "four equal sides");
  table.add<Nothing>("nothing", "no area");
  return table;
}

struct Drawing {
  explicit Drawing(const Table& table) : shape(table, "square") {}
  ShapeChoice shape;
  void fields(Fields& f) { f.choice("shape", "kind", shape, "what to draw"); }
};

TEST_CASE("a registry lists its entries in the order of registration") {
  const Table table = make_table();
  CHECK(table.kind() == "shape");
  CHECK(table.names() == std::vector<std::string>{"square", "nothing"});
  CHECK(table.help("square") == "four equal sides");
}

TEST_CASE("a registry refuses a name it has, and suggests for one it has not") {
  Table table = make_table();
  CHECK_THROWS_WITH_AS(table.add<Square>("nothing", ""), "shape: 'nothing' is registered twice", Error);
  CHECK_THROWS_WITH_AS(table.help("sqaure"),
                       "shape: there is no 'sqaure'; there are square, nothing; did you mean 'square'?", Error);
  CHECK_THROWS_WITH_AS(table.recipe("circle"), "shape: there is no 'circle'; there are square, nothing", Error);
  CHECK_THROWS_WITH_AS(ShapeChoice(table, "circle"), "shape: there is no 'circle'; there are square, nothing", Error);
}

TEST_CASE("a choice makes what it names, with its options and its context") {
  const Table table = make_table();
  ShapeChoice choice(table, "square");
  CHECK(choice.name() == "square");
  CHECK(choice.names() == table.names());
  CHECK(choice.help("nothing") == "no area");
  CHECK(choice.make(10)->area() == 40);
  choice.set<Square>("square", {3});
  CHECK(choice.make(10)->area() == 90);
  CHECK(choice.make(1)->area() == 9);
  choice.select("nothing");
  CHECK(choice.name() == "nothing");
  CHECK(choice.make(10)->area() == 0);
  choice.select("square");  // with its defaults again
  CHECK(choice.make(1)->area() == 4);
}

TEST_CASE("a choice is unchanged by a name that does not exist") {
  const Table table = make_table();
  ShapeChoice choice(table, "square");
  choice.set<Square>("square", {3});
  CHECK_THROWS_AS(choice.select("circle"), Error);
  CHECK_THROWS_AS(choice.set<Square>("circle", {5}), Error);
  CHECK(choice.name() == "square");
  CHECK(choice.make(1)->area() == 9);
}

TEST_CASE("a choice takes options of the implementation it names only") {
  const Table table = make_table();
  ShapeChoice choice(table, "square");
  choice.set<Square>("square", {3});
  CHECK_THROWS_WITH_AS(choice.set<Square>("nothing", {5}), "shape: 'nothing' is not registered with these options",
                       Error);
  CHECK(choice.name() == "square");
  CHECK(choice.make(1)->area() == 9);
}

TEST_CASE("copies of a choice are values of their own") {
  const Table table = make_table();
  ShapeChoice first(table, "square");
  first.set<Square>("square", {3});
  ShapeChoice second = first;
  second.set<Square>("square", {5});
  CHECK(first.make(1)->area() == 9);
  CHECK(second.make(1)->area() == 25);
  ShapeChoice third(table, "nothing");
  third = second;
  second.select("nothing");
  CHECK(third.name() == "square");
  CHECK(third.make(1)->area() == 25);
  const ShapeChoice moved = std::move(third);
  CHECK(moved.make(1)->area() == 25);
  const ShapeChoice& same = first;
  first = same;
  CHECK(first.make(1)->area() == 9);
}

TEST_CASE("the defaults of a table do not change with its choices") {
  const Table table = make_table();
  ShapeChoice choice(table, "square");
  choice.set<Square>("square", {3});
  CHECK(ShapeChoice(table, "square").make(1)->area() == 4);
}

TEST_CASE("check_options checks the options of a choice") {
  const Table table = make_table();
  Drawing options(table);
  check_options("picture", options);
  options.shape.set<Square>("square", {-1});
  CHECK_THROWS_WITH_AS(check_options("picture", options), "picture.shape: side must be greater than 0; got -1", Error);
  options.shape.select("nothing");
  check_options("picture", options);
}

}  // namespace
}  // namespace surd
