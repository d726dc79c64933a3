#include <rekindle/base/hash.h>
#include <rekindle/base/philox.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace rekindle {
namespace {

std::string sample_bytes(std::size_t size) {
    std::string bytes(size, '\0');
    for (std::size_t i = 0; i < size; ++i)
        bytes[i] = static_cast<char>(static_cast<unsigned char>(i * 131 + 7));
    return bytes;
}

struct KnownHash {
    std::size_t size;
    const char* hex;
};

// `xxhsum -H2` of xxHash 0.8.1 on files that hold sample_bytes(size): one for each of the algorithm's size
// classes.
constexpr KnownHash known_hashes[] = {
    {0, "99aa06d3014798d86001c324468d497f"},    {1, "495b62073ef70ca44c5cca45d0f4811f"},
    {3, "390cdc5b4a895dd76e3e2670e61106ac"},    {4, "aa6e2f274640a3f43d668af6f2a44d77"},
    {8, "6a86a3bda6af4e3d61ddbe7f31a6100d"},    {9, "664c7ca18afd62558c7b67fd458a936b"},
    {16, "7f9a218b0425449ae2ce54a7c19c730d"},   {17, "66fc23f6439dbd778d96ef110fcdebb4"},
    {128, "aec730751478556cff361dec1385710a"},  {129, "98cd36ccbb5579264545b3a09738e31a"},
    {240, "5293e17bf553903d3f2c53e72293711f"},  {241, "b53840fe3fedf161956cae592c67279e"},
    {1000, "622239c5c47a6910571d5cbfef44331b"}, {100000, "e9e46da59b77e42314ce8d6fc2c4868b"},
};

TEST(Hash, AgreesWithXxhsum) {
    for (const KnownHash& known : known_hashes)
        EXPECT_EQ(hash128(sample_bytes(known.size)).hex(), known.hex) << known.size << " bytes";
}

TEST(Hasher, AgreesWithXxhsumForAnySplit) {
    for (const KnownHash& known : known_hashes) {
        const std::string bytes = sample_bytes(known.size);
        PhiloxStream random(1, RandomPurpose::test, 0, known.size);
        for (int round = 0; round < 5; ++round) {
            Hasher hasher;
            for (std::string_view rest = bytes; !rest.empty();) {
                const std::size_t cut = std::min<std::size_t>(rest.size(), 1 + random.next_below(700));
                hasher.update(rest.substr(0, cut));
                rest.remove_prefix(cut);
            }
            EXPECT_EQ(hasher.digest().hex(), known.hex) << known.size << " bytes";
        }
    }
}

TEST(Hasher, DigestDoesNotEndTheStream) {
    Hasher hasher;
    hasher.update(sample_bytes(1000).substr(0, 500));
    (void)hasher.digest();
    hasher.update(sample_bytes(1000).substr(500));
    EXPECT_EQ(hasher.digest(), hash128(sample_bytes(1000)));
}

TEST(Hasher, IsMovable) {
    Hasher first;
    first.update(sample_bytes(100));
    Hasher second(std::move(first));
    EXPECT_EQ(second.digest(), hash128(sample_bytes(100)));
}

} // namespace
} // namespace rekindle
