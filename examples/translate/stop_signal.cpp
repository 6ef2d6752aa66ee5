#include "examples/translate/stop_signal.h"

#include <csignal>

namespace translate {
namespace {

volatile std::sig_atomic_t noted = 0;

extern "C" void note(int signal) {
  noted = signal;
  std::signal(signal, SIG_DFL);
}

}  // namespace

StopSignal::StopSignal() {
  noted = 0;
  std::signal(SIGINT, note);
  std::signal(SIGTERM, note);
}

StopSignal::~StopSignal() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

int StopSignal::received() { return noted; }

}  // namespace translate
