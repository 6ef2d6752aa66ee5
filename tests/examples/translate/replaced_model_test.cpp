#include "examples/translate/replaced_model.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <set>

#include "examples/output_file.h"
#include "examples/translate/model_folder.h"
#include "tests/temporary_folder.h"

using namespace translate;
using examples::write_file;

namespace {

using Names = std::set<std::string>;

/// A model in name alone, and a file of somebody else.
void fill(const heed::TemporaryFolder& folder, const std::string& content) {
  write_file(folder / kDescriptionFile, content);
  write_file(folder / kWeightsFile, content);
  std::filesystem::create_directories(folder / kKeptFolder);
  write_file(folder / "kept/checkpoint-00000001.safetensors", content);
  write_file(folder / "notes", "mine");
}

const Names kAll = {kDescriptionFile, kWeightsFile, kKeptFolder, "notes"};

}  // namespace

TEST_CASE("ReplacedModel: comes back as it was unless it is forgotten") {
  const heed::TemporaryFolder folder;
  fill(folder, "old");
  {
    const ReplacedModel old(folder / ".");
    CHECK(model_files(folder / ".").empty());
    CHECK(heed::read_bytes(folder / "notes") == "mine");
    write_file(folder / kDescriptionFile, "new");
    write_file(folder / kSettingsFile, "new");
  }
  CHECK(folder.names() == kAll);
  CHECK(heed::read_bytes(folder / kDescriptionFile) == "old");
  CHECK(heed::read_bytes(folder / kWeightsFile) == "old");
  CHECK(model_files(folder / ".").size() == 3);
}

TEST_CASE("ReplacedModel: once forgotten, the new one is alone") {
  const heed::TemporaryFolder folder;
  fill(folder, "old");
  {
    ReplacedModel old(folder / ".");
    write_file(folder / kDescriptionFile, "new");
    old.forget();
  }
  CHECK(folder.names() == Names{kDescriptionFile, kKeptFolder, "notes"});
  CHECK(heed::read_bytes(folder / kDescriptionFile) == "new");
  CHECK(model_files(folder / ".").size() == 1);
}

TEST_CASE("ReplacedModel: a folder without a model stays as it is") {
  const heed::TemporaryFolder folder;
  write_file(folder / "notes", "mine");
  {
    const ReplacedModel old(folder / ".");
    write_file(folder / kDescriptionFile, "new");
  }
  CHECK(folder.names() == Names{kDescriptionFile, "notes"});
}
