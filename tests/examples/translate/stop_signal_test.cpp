#include "examples/translate/stop_signal.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <initializer_list>

using namespace translate;

TEST_CASE("StopSignal: a signal is noted, and forgotten by the next one") {
  for (int signal : {SIGINT, SIGTERM}) {
    const StopSignal stop;
    CHECK(StopSignal::received() == 0);
    std::raise(signal);
    CHECK(StopSignal::received() == signal);
  }
}

TEST_CASE("StopSignal: a second signal, or one afterwards, ends the program") {
  for (int times : {1, 2}) {
    const pid_t child = fork();
    if (child == 0) {
      {
        const StopSignal stop;
        for (int i = 0; i < times; ++i) {
          std::raise(SIGTERM);
        }
      }
      std::raise(SIGTERM);
      _exit(0);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == SIGTERM);
  }
}
