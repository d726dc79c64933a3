#include "host/host_files.h"
#include "host_tree.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace rekindle::doctor {
namespace {

using fixtures::HostTree;

TEST(HostFiles, ReadsBelowTheRootAndNamesPathsOfTheHost) {
    const HostTree tree;
    tree.file("/sys/a", "  12 \nsecond\n");
    HostFiles files(tree.root().string());
    EXPECT_FALSE(files.live());
    EXPECT_TRUE(files.line("/sys/a").is("12"));
    EXPECT_EQ(files.line("/sys/a").source, "/sys/a");
    EXPECT_TRUE(files.number<int>("/sys/a").is(12));
    EXPECT_TRUE(files.number<int>("/sys/a", 16).is(0x12));
    EXPECT_EQ(files.read("/sys/b").unread, "No such file or directory");
    tree.file("/sys/word", "0x7fff\n");
    EXPECT_TRUE(files.number<unsigned>("/sys/word", 16).is(0x7fff));
    EXPECT_EQ(files.number<unsigned>("/sys/word").unread, "not understood");
    EXPECT_EQ(files.number<signed char>("/sys/word", 16).unread, "not understood"); // does not fit
    tree.file("/sys/empty", "\n");
    EXPECT_EQ(files.line("/sys/empty").unread, "empty");
}

TEST(HostFiles, LinksStayInsideTheRoot) {
    const HostTree tree;
    tree.file("/etc/passwd", "recorded");
    tree.link("/absolute", "/etc/passwd");
    tree.link("/climbing", "../../../../../../../../etc/passwd");
    tree.link("/d/e/relative", "../../etc/passwd");
    tree.link("/folder", "/etc");
    tree.link("/loop", "/pool");
    tree.link("/pool", "loop");
    tree.link("/growing", "growing/growing");
    HostFiles files(tree.root().string() + "/");
    for (const char* path :
         {"/absolute", "/climbing", "/d/e/relative", "/folder/passwd", "/../../etc/passwd"})
        EXPECT_TRUE(files.read(path).is("recorded")) << path;
    EXPECT_TRUE(files.resolve("/folder/passwd").is("/etc/passwd"));
    EXPECT_TRUE(files.link("/absolute").is("/etc/passwd"));
    EXPECT_EQ(files.read("/loop").unread, "Too many levels of symbolic links");
    EXPECT_EQ(files.read("/growing").unread, "Too many levels of symbolic links");
}

TEST(HostFiles, FilesThatCouldBlockAreNotOpened) {
    const HostTree tree;
    ASSERT_EQ(::mkfifo(tree.make_parent("/sys/fifo").c_str(), 0600), 0);
    tree.folder("/sys/folder");
    const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string place = tree.make_parent("/sys/socket").string();
    ASSERT_LT(place.size(), sizeof address.sun_path);
    place.copy(address.sun_path, place.size());
    ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ::close(socket);

    HostFiles files(tree.root().string());
    EXPECT_EQ(files.read("/sys/fifo").unread, "not a regular file");
    EXPECT_EQ(files.read("/sys/socket").unread, "not a regular file");
    EXPECT_EQ(files.read("/sys/folder").unread, "Is a directory");
    EXPECT_EQ(files.list("/sys/fifo").unread, "Not a directory");
    HostFiles live;
    EXPECT_EQ(live.read("/dev/zero").unread, "not a regular file");
}

TEST(HostFiles, SizesAreNotTrusted) {
    const HostTree tree;
    tree.file("/big", std::string(3000, 'x'));
    tree.file("/hole", "");
    std::filesystem::resize_file(tree.root() / "hole",
                                 std::uintmax_t{1} << 40); // claims a terabyte, holds nothing
    HostFiles files(tree.root().string(), {.bytes = 1000});
    EXPECT_EQ(files.read("/big").unread, "longer than 1000 B");
    EXPECT_EQ(files.read("/hole").unread, "longer than 1000 B");
    EXPECT_EQ(files.read("/big", 3000)->size(), 3000U);
    EXPECT_EQ(files.read_part("/big", -10, 100)->size(), 10U);
    EXPECT_EQ(files.read_part("/big", -100000, 5000)->size(),
              3000U); // longer than the file: read from its beginning
    EXPECT_EQ(files.read_part("/big", 2990, 5)->size(), 5U);
    EXPECT_EQ(files.read_part("/big", 5000, 5)->size(), 0U);
    HostFiles live; // procfs reports 0 bytes for every file
    EXPECT_FALSE(live.line("/proc/sys/kernel/osrelease")->empty());
}

TEST(HostFiles, FoldersAreSortedByTheNumbersInTheirNames) {
    const HostTree tree;
    for (const char* name : {"/d/card10", "/d/card2", "/d/card1"})
        tree.file(name, "");
    tree.link("/d/link", "target");
    HostFiles files(tree.root().string());
    EXPECT_EQ(files.names("/d"), (std::vector<std::string>{"card1", "card2", "card10", "link"}));
    const auto entries = *files.list("/d");
    EXPECT_EQ(entries.back().kind, 'l');
    EXPECT_EQ(entries.back().target, "target");
    EXPECT_TRUE(files.names("/none").empty());
    EXPECT_EQ(files.list("/none").unread, "No such file or directory");
}

TEST(HostFiles, AFileThatBlocksIsSkippedAndReported) {
    const HostTree tree;
    tree.file("/sys/card/busy", "1\n");
    tree.file("/sys/card/other", "2\n");
    tree.file("/sys/next", "3\n");
    const auto blocks = [](const std::string& root, const FileRequest& request) {
        while (request.path.ends_with("/busy"))
            ::pause();
        return answer_from_files(root, request);
    };
    HostFiles files(tree.root().string(), {.deadline = std::chrono::seconds(3)}, blocks);
    EXPECT_TRUE(files.line("/sys/card/other").is("2"));
    EXPECT_EQ(files.line("/sys/card/busy").unread, "skipped: no response within 3000 ms");
    EXPECT_EQ(files.line("/sys/card/busy").unread, "skipped: another file in this folder did not respond");
    EXPECT_EQ(files.line("/sys/card/other").unread, "skipped: another file in this folder did not respond");
    EXPECT_TRUE(files.line("/sys/next").is("3")); // a new process continues
}

TEST(HostFiles, ManyFilesThatBlockTakeNoLongerThanThePatience) {
    const auto blocks = [](const std::string&, const FileRequest&) -> FileAnswer {
        while (true)
            ::pause();
    };
    using std::chrono::milliseconds;
    HostFiles files("/nowhere", {.deadline = milliseconds(100), .patience = milliseconds(200)}, blocks);
    std::string last;
    for (int i = 0; i < 20; ++i)
        last = files.line(fmt::format("/sys/{}/file", i)).unread;
    EXPECT_EQ(last, "skipped: no response within 20 ms");
}

TEST(HostFiles, ReasonsFromTheKernelAreKept) {
    const auto refuses = [](const std::string&, const FileRequest& request) -> FileAnswer {
        return {.error = request.path == "/dev/kfd" ? EPERM : EACCES, .more = false, .data = {}};
    };
    HostFiles files("/", {}, refuses);
    EXPECT_EQ(files.usable("/dev/kfd").unread, "Operation not permitted"); // the device cgroup
    EXPECT_EQ(files.usable("/dev/dri/renderD128").unread, "Permission denied");
    EXPECT_EQ(files.usable("/dev/dri/renderD128").source, "/dev/dri/renderD128");
}

TEST(HostFiles, AReaderThatDiesIsReplaced) {
    const auto dies = [](const std::string& root, const FileRequest& request) {
        if (request.path == "/deadly")
            ::_exit(3);
        return answer_from_files(root, request);
    };
    HostFiles files("/", {}, dies);
    EXPECT_EQ(files.read("/deadly").unread, "the reading process ended");
    EXPECT_TRUE(files.line("/proc/sys/kernel/osrelease").known());
}

} // namespace
} // namespace rekindle::doctor
