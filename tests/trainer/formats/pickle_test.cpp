#include "archive_fixture.h"

#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/trainer/pickle.h>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <set>

namespace rekindle::trainer {
namespace {

using fixtures::golden;
using ::testing::HasSubstr;

/// A text form of a value that shows every kind, for comparing whole structures.
std::string show(PickleValue value, int depth = 0) {
    if (depth > 60)
        return "…";
    const auto all = [&](std::span<const PickleId> ids) {
        std::string text;
        for (const PickleId id : ids)
            text += (text.empty() ? "" : ", ") + show(value.at(id), depth + 1);
        return text;
    };
    const auto entries = [&] {
        std::string text;
        for (const auto& [key, element] : value.entries())
            text += (text.empty() ? "" : ", ") + show(value.at(key), depth + 1) + ": " +
                    show(value.at(element), depth + 1);
        return text;
    };
    switch (value.kind()) {
    case PickleKind::none:
        return "None";
    case PickleKind::boolean:
        return *value.as_boolean() ? "True" : "False";
    case PickleKind::integer:
        return std::to_string(*value.as_integer());
    case PickleKind::big_integer:
        return fmt::format("big{}", value.as_big_integer()->size());
    case PickleKind::real:
        return shortest(*value.as_number());
    case PickleKind::string:
        return "'" + std::string(*value.as_string()) + "'";
    case PickleKind::bytes:
        return fmt::format("bytes{}", value.as_bytes()->size());
    case PickleKind::list:
        return "[" + all(value.elements()) + "]";
    case PickleKind::tuple:
        return "(" + all(value.elements()) + ")";
    case PickleKind::set:
        return "{" + all(value.elements()) + "}";
    case PickleKind::dict:
        return "{" + entries() + "}";
    case PickleKind::global:
        return "<" + value.global_name() + ">";
    case PickleKind::persistent:
        return "persistent " + show(*value.as_persistent(), depth + 1);
    case PickleKind::object: {
        const PickleObject& object = *value.as_object();
        std::string text = show(value.at(object.callable), depth + 1) + (object.via_new ? ".new" : "") +
                           show(value.at(object.arguments), depth + 1);
        if (!object.elements.empty())
            text += "[" + all(object.elements) + "]";
        if (!object.entries.empty())
            text += "{" + entries() + "}";
        for (const PickleId state : object.states)
            text += "|" + show(value.at(state), depth + 1);
        return text;
    }
    }
    return "?";
}

std::string parsed(std::string_view pickle) {
    return show(parse_pickle(pickle, "test").value());
}

std::string pickle_refusal(std::string_view pickle, const PickleLimits& limits = {}) {
    try {
        parse_pickle(pickle, "test.pkl", limits);
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), ExitStatus::usage);
        EXPECT_THAT(error.where(), HasSubstr("test.pkl"));
        return error.render();
    }
    return "accepted";
}

class EveryProtocol : public ::testing::TestWithParam<int> {};

TEST_P(EveryProtocol, ReadsPlainValuesPickledByPython) {
    const ParsedPickle pickle =
        parse_pickle(read_file(golden(fmt::format("protocol{}.pkl", GetParam()))), "golden");
    const PickleValue value = pickle.value();
    ASSERT_TRUE(value.is_mapping());
    EXPECT_EQ(value.entries().size(), 18U);
    EXPECT_TRUE(value.find("none")->is_none());
    EXPECT_EQ(value.find("true")->as_boolean(), true);
    EXPECT_EQ(value.find("false")->as_boolean(), false);
    EXPECT_EQ(value.find("small")->as_integer(), 7);
    EXPECT_EQ(value.find("negative")->as_integer(), -5);
    EXPECT_EQ(value.find("large")->as_integer(), std::int64_t{1} << 40);
    EXPECT_EQ(value.find("real")->as_number(), 0.1);
    EXPECT_EQ(value.find("text")->as_string(), "Kurs \u20ac \U0001f4c8");
    EXPECT_EQ(value.find("bytes")->as_bytes(), std::string("\x00\xff", 2));
    EXPECT_EQ(value.find("list")->id(), value.find("same")->id()) << "sharing is kept";
    EXPECT_EQ(show(*value.find("list")), "[1, 2]");
    EXPECT_EQ(show(*value.find("tuple")), "(1, (2, 3), (4, 5, 6, 7))");
    EXPECT_EQ(show(*value.find("dict")->find("a")), "1");
    EXPECT_EQ(value.find("numpy")->as_number(), 2.5);
    EXPECT_THAT(value.find("complex")->global_name(), HasSubstr("complex"));
    EXPECT_THAT(value.find("range")->global_name(), HasSubstr("range"));
    // -(10**30) in two's complement, from Python: (-(10**30)).to_bytes(13, 'little', signed=True).
    ASSERT_EQ(value.find("huge")->kind(), PickleKind::big_integer);
    EXPECT_EQ(*value.find("huge")->as_big_integer(),
              std::string_view("\x00\x00\x00\xc0\x15\x12\x8b\xb9\x2f\x63\xd3\x60\xf3", 13));
}

TEST_P(EveryProtocol, SurvivesWritingAndReadingAgain) {
    const ParsedPickle first =
        parse_pickle(read_file(golden(fmt::format("protocol{}.pkl", GetParam()))), "golden");
    const std::string written = write_pickle(first.value());
    const ParsedPickle second = parse_pickle(written, "written");
    EXPECT_EQ(show(second.value()), show(parse_pickle(write_pickle(second.value()), "again").value()));
    EXPECT_EQ(show(*second.value().find("tuple")), "(1, (2, 3), (4, 5, 6, 7))");
    EXPECT_EQ(second.value().find("bytes")->as_bytes(), std::string("\x00\xff", 2));
}

INSTANTIATE_TEST_SUITE_P(Protocols, EveryProtocol, ::testing::Range(0, 6));

TEST(Pickle, KeepsCallsAsInertNodes) {
    // os.system("rm -rf /") in a pickle, in three forms. None of them does anything.
    EXPECT_EQ(parsed("cos\nsystem\n(S'rm -rf /'\ntR."), "<os.system>('rm -rf /')");
    EXPECT_EQ(parsed("(S'rm -rf /'\nios\nsystem\n."), "<os.system>('rm -rf /')");
    EXPECT_EQ(parsed("\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x02ls\x85R."), "<os.system>('ls')");
    EXPECT_EQ(parsed("(cbuiltins\neval\nS'1'\no."), "<builtins.eval>('1')");
    EXPECT_EQ(parsed("cm\nC\n)\x81}S'a'\nI1\nsb."), "<m.C>.new()|{'a': 1}");
    EXPECT_EQ(parsed("cm\nC\n)}\x92."), "<m.C>.new((), {})");
}

TEST(Pickle, UnderstandsMarksPopsAndMemos) {
    EXPECT_EQ(parsed("(I1\nI2\n0t."), "(1)");
    EXPECT_EQ(parsed("I1\n(I2\nI3\n1."), "1");
    EXPECT_EQ(parsed("](I1\n2e."), "[1, 1]");
    EXPECT_EQ(parsed("S'a\\x41\\n\\''\n."), "'aA\n''");
    EXPECT_EQ(parsed("P17\n."), "persistent '17'");
}

TEST(Pickle, KeepsCycles) {
    const ParsedPickle pickle = parse_pickle("]q\x01h\x01"
                                             "a.",
                                             "cycle");
    EXPECT_EQ(pickle.value().elements().size(), 1U);
    EXPECT_EQ(pickle.value().element(0)->id(), pickle.root);
    EXPECT_EQ(parsed(write_pickle(pickle.value())), parsed("]q\x01h\x01"
                                                           "a."));
}

TEST(Pickle, WritesWhatPythonWrites) {
    // pickletools.optimize(pickle.dumps({'a': [1, 70000, -1, True, None, 0.5]}, 2)) keeps no memo;
    // write_pickle does, so this compares the values and the size of the integer operations.
    PickleDocument document;
    const PickleId list =
        document.list({document.integer(255), document.integer(256), document.integer(65536),
                       document.integer(-1), document.integer(std::int64_t{1} << 33), document.real(-0.5),
                       document.boolean(true), document.none()});
    EXPECT_EQ(write_pickle(document.at(list)), std::string("\x80\x02]q\x00("
                                                           "K\xff"
                                                           "M\x00\x01"
                                                           "J\x00\x00\x01\x00"
                                                           "J\xff\xff\xff\xff"
                                                           "\x8a\x08\x00\x00\x00\x00\x02\x00\x00\x00"
                                                           "G\xbf\xe0\x00\x00\x00\x00\x00\x00\x88Ne.",
                                                           44));
}

TEST(Pickle, WritesSharedValuesOnce) {
    PickleDocument document;
    PickleId value = document.list({document.integer(1)});
    for (int i = 0; i < 60; ++i)
        value = document.list({value, value});
    EXPECT_LT(write_pickle(document.at(value)).size(), 1000U);
    for (int i = 0; i < 600; ++i)
        value = document.list({value});
    EXPECT_THROW(write_pickle(document.at(value)), Error);
}

TEST(Pickle, RefusesInvalidPicklesAndSaysWhere) {
    EXPECT_THAT(pickle_refusal(""), HasSubstr("ends without a stop mark"));
    EXPECT_THAT(pickle_refusal("N"), HasSubstr("byte 1"));
    EXPECT_THAT(pickle_refusal("."), HasSubstr("0 values"));
    EXPECT_THAT(pickle_refusal("NN."), HasSubstr("2 values"));
    EXPECT_THAT(pickle_refusal("(N."), HasSubstr("ends with"));
    EXPECT_THAT(pickle_refusal("\x80\x06N."), HasSubstr("protocol 6"));
    EXPECT_THAT(pickle_refusal("a."), HasSubstr("empty stack"));
    EXPECT_THAT(pickle_refusal("N(a."), HasSubstr("empty stack")) << "values below a mark are out of reach";
    EXPECT_THAT(pickle_refusal("t."), HasSubstr("did not open"));
    EXPECT_THAT(pickle_refusal("NNa."), HasSubstr("not a list"));
    EXPECT_THAT(pickle_refusal("NNNs."), HasSubstr("not a dictionary"));
    EXPECT_THAT(pickle_refusal("}(Nu."), HasSubstr("no value"));
    EXPECT_THAT(pickle_refusal("NNb."), HasSubstr("plain value"));
    EXPECT_THAT(pickle_refusal("h\x05."), HasSubstr("memo 5"));
    EXPECT_THAT(pickle_refusal("I12x\n."), HasSubstr("cannot be read"));
    EXPECT_THAT(pickle_refusal("S'abc\n."), HasSubstr("quotes"));
    EXPECT_THAT(pickle_refusal("S'\\q'\n."), HasSubstr("escape"));
    EXPECT_THAT(pickle_refusal(std::string_view("X\xff\xff\xff\xff"
                                                "a",
                                                6)),
                HasSubstr("4,294,967,295 bytes are announced, 1 is left"));
    EXPECT_THAT(pickle_refusal("\x8d\xff\xff\xff\xff\xff\xff\xff\xff"), HasSubstr("ends early"));
    EXPECT_THAT(pickle_refusal("\x8b\xff\xff\xff\xff"), HasSubstr("negative length"));
    EXPECT_THAT(pickle_refusal("\x97."), HasSubstr("buffers"));
    EXPECT_THAT(pickle_refusal("\x82\x01."), HasSubstr("extension registry"));
    EXPECT_THAT(pickle_refusal("\xf0"), HasSubstr("0xf0"));
}

TEST(Pickle, BoundsItsSize) {
    PickleLimits limits;
    limits.max_nodes = 1000;
    for (const char operation : {']', 'N', '('})
        EXPECT_THAT(pickle_refusal(std::string(2000, operation), limits), HasSubstr("more than 1000 values"));
    EXPECT_THAT(pickle_refusal("N" + std::string(2000, '2'), limits), HasSubstr("more than 1000 values"));
    limits.max_bytes = 10;
    EXPECT_THAT(pickle_refusal(std::string(11, 'N'), limits), HasSubstr("11 bytes"));
    // Nested half a million deep: reading and freeing it needs no stack.
    EXPECT_EQ(parse_pickle(")" + std::string(500'000, '\x85') + ".", "deep").document.size(), 500'001U);
}

TEST(Pickle, SurvivesDamage) {
    int accepted = 0;
    for (int protocol = 0; protocol < 6; ++protocol) {
        const std::string original = read_file(golden(fmt::format("protocol{}.pkl", protocol)));
        for (std::uint32_t round = 0; round < 1000; ++round) {
            PhiloxStream random(7, RandomPurpose::test, static_cast<std::uint32_t>(protocol), round);
            std::string damaged = original;
            for (std::uint32_t i = 0; i <= round % 4; ++i)
                damaged[random.next_below(static_cast<std::uint32_t>(damaged.size()))] =
                    static_cast<char>(random.next_below(256));
            if (round % 3 == 0)
                damaged.resize(random.next_below(static_cast<std::uint32_t>(damaged.size())));
            try {
                const ParsedPickle pickle = parse_pickle(damaged, "damaged");
                show(pickle.value());
                write_pickle(pickle.value());
                ++accepted;
            } catch (const Error&) {
            }
        }
    }
    EXPECT_GT(accepted, 300) << "damage inside text must pass, or the test damages too much";
    EXPECT_LT(accepted, 5000);
}

} // namespace
} // namespace rekindle::trainer
