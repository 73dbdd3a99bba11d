#include "train/ranks/mpi_transport.hpp"

#include "autograd/base/error.hpp"

#include <mpi.h>

#include <cstdlib>
#include <map>

namespace surd {
namespace {

MPI_Datatype mpi_real() { return sizeof(Real) == sizeof(float) ? MPI_FLOAT : MPI_DOUBLE; }

int as_int(std::size_t number) { return static_cast<int>(number); }

class MpiTransport : public Transport {
 public:
  MpiTransport() {
    int given = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given);
    expect(given >= MPI_THREAD_FUNNELED, "MPI", "does not go with threads; build one that does");
    int number = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &number);
    count_ = static_cast<std::size_t>(number);
    MPI_Comm_rank(MPI_COMM_WORLD, &number);
    index_ = static_cast<std::size_t>(number);
    for (MPI_Comm* communicator : {&gradients_, &reports_}) {
      MPI_Comm_dup(MPI_COMM_WORLD, communicator);
      MPI_Comm_set_errhandler(*communicator, MPI_ERRORS_RETURN);
    }
  }
  ~MpiTransport() override {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized == 0) MPI_Finalize();
  }
  MpiTransport(const MpiTransport&) = delete;
  MpiTransport& operator=(const MpiTransport&) = delete;

  std::size_t count() const override { return count_; }
  std::size_t index() const override { return index_; }
  std::size_t most_labels() const override {
    int* largest = nullptr;
    int found = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &largest, &found);
    return found != 0 ? static_cast<std::size_t>(*largest) + 1 : Transport::most_labels();
  }

  Request send(const Real* numbers, std::size_t count, std::size_t to, std::size_t label) override {
    MPI_Request& request = begin();
    check(MPI_Isend(numbers, as_int(count), mpi_real(), as_int(to), as_int(label), gradients_, &request));
    return last_;
  }
  Request receive(Real* numbers, std::size_t count, std::size_t from, std::size_t label) override {
    MPI_Request& request = begin();
    check(MPI_Irecv(numbers, as_int(count), mpi_real(), as_int(from), as_int(label), gradients_, &request));
    return last_;
  }
  Request all_gather(const char* send, char* receive, std::size_t size) override {
    MPI_Request& request = begin();
    const int bytes = as_int(size);
    check(MPI_Iallgather(send, bytes, MPI_BYTE, receive, bytes, MPI_BYTE, reports_, &request));
    return last_;
  }
  bool done(Request request) override {
    const auto found = requests_.find(request);
    if (found == requests_.end()) return true;
    int flag = 0;
    check(MPI_Test(&found->second, &flag, MPI_STATUS_IGNORE));
    if (flag != 0) requests_.erase(found);
    return flag != 0;
  }

 private:
  MPI_Request& begin() { return requests_[++last_]; }
  static void check(int code) {
    if (code == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(code, text, &length);
    throw RankLost(fmt::format("MPI: {}; --resume goes on, with any number of ranks",
                               std::string(text, static_cast<std::size_t>(length))));
  }

  std::size_t count_ = 1, index_ = 0;
  MPI_Comm gradients_{}, reports_{};
  std::map<Request, MPI_Request> requests_;
  Request last_ = 0;
};

}  // namespace

std::unique_ptr<Transport> mpi_transport() { return std::make_unique<MpiTransport>(); }

void abort_ranks(int code) {
  MPI_Abort(MPI_COMM_WORLD, code);
  std::_Exit(code);
}

}  // namespace surd
