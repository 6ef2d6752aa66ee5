#include "examples/translate/folder_lock.h"

#include <doctest/doctest.h>

#include <memory>
#include <stdexcept>

#include "tests/temporary_folder.h"

using namespace translate;

TEST_CASE("FolderLock: one at a time, and nothing is left behind") {
  const heed::TemporaryFolder folder;
  const std::string path = folder / ".";
  auto first = std::make_unique<FolderLock>(path);
  CHECK_THROWS_WITH_AS(
      FolderLock{path},
      (path + ": must be left alone by others: a process trains in it").c_str(),
      std::runtime_error);
  first.reset();
  const FolderLock second(path);
  CHECK(folder.names().empty());
}
