#pragma once

namespace translate {

/// While it lives, Ctrl-C (SIGINT) and SIGTERM are only noted, so that the
/// program can save first; a second one ends it at once. One at a time.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  /// The signal that came, or 0.
  static int received();
};

}  // namespace translate
