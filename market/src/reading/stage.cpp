#include "reading/stage.h"

#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>

namespace rekindle::market::reading {

namespace {

class MemoryStage final : public RowStage {
  public:
    explicit MemoryStage(std::size_t rows) {
        bars_.time.reserve(rows);
        for (auto* column : {&bars_.open, &bars_.high, &bars_.low, &bars_.close})
            column->reserve(rows);
        bars_.volume.reserve(rows);
        bars_.contract.reserve(rows);
    }

    void append(const BarBuffer& rows, std::span<const std::uint32_t> lines) override {
        const auto add = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
        add(bars_.time, rows.time);
        add(bars_.open, rows.open);
        add(bars_.high, rows.high);
        add(bars_.low, rows.low);
        add(bars_.close, rows.close);
        add(bars_.volume, rows.volume);
        add(bars_.contract, rows.contract);
        add(bars_.bid_volume, rows.bid_volume);
        add(bars_.ask_volume, rows.ask_volume);
        add(lines_, lines);
    }
    StagedRows finish() override { return {bars_.columns(), lines_}; }
    BarBuffer take() override { return std::move(bars_); }

  private:
    BarBuffer bars_;
    std::vector<std::uint32_t> lines_;
};

Error spool_error(const std::filesystem::path& folder, int number) {
    return Error(fmt::format("cannot write a temporary file: {}", std::generic_category().message(number)))
        .at(folder.string())
        .hint("Free up space on that disk or choose another folder for the output.");
}

template <class T>
std::span<const T> as_numbers(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

class FileStage final : public RowStage {
  public:
    explicit FileStage(const std::filesystem::path& folder) {
        for (std::size_t i = 0; i < 10; ++i)
            columns_.emplace_back(folder);
    }
    void append(const BarBuffer& rows, std::span<const std::uint32_t> lines) override {
        const auto add = [this](std::size_t column, const auto& values) {
            columns_[column].append(std::as_bytes(std::span(values)));
        };
        add(0, rows.time);
        add(1, rows.open);
        add(2, rows.high);
        add(3, rows.low);
        add(4, rows.close);
        add(5, rows.volume);
        add(6, rows.contract);
        add(7, lines);
        add(8, rows.bid_volume);
        add(9, rows.ask_volume);
    }
    StagedRows finish() override {
        StagedRows rows;
        rows.bars.time = as_numbers<std::int64_t>(columns_[0].map());
        rows.bars.open = as_numbers<Ticks>(columns_[1].map());
        rows.bars.high = as_numbers<Ticks>(columns_[2].map());
        rows.bars.low = as_numbers<Ticks>(columns_[3].map());
        rows.bars.close = as_numbers<Ticks>(columns_[4].map());
        rows.bars.volume = as_numbers<std::int64_t>(columns_[5].map());
        rows.bars.contract = as_numbers<std::uint16_t>(columns_[6].map());
        rows.bars.bid_volume = as_numbers<std::int64_t>(columns_[8].map());
        rows.bars.ask_volume = as_numbers<std::int64_t>(columns_[9].map());
        rows.line = as_numbers<std::uint32_t>(columns_[7].map());
        return rows;
    }

  private:
    std::vector<NumberSpool> columns_;
};

} // namespace

struct NumberSpool::State {
    std::filesystem::path folder;
    FileDescriptor file;
    std::vector<std::byte> buffer;
    std::size_t written = 0;
    void* mapped = nullptr;

    ~State() {
        if (mapped)
            ::munmap(mapped, written);
    }
    void flush() {
        std::span<const std::byte> rest(buffer);
        while (!rest.empty()) {
            const ssize_t count = ::write(file.get(), rest.data(), rest.size());
            if (count < 0 && errno == EINTR)
                continue;
            if (count < 0)
                throw spool_error(folder, errno);
            rest = rest.subspan(static_cast<std::size_t>(count));
            written += static_cast<std::size_t>(count);
        }
        buffer.clear();
    }
};

NumberSpool::NumberSpool(const std::filesystem::path& folder) : state_(std::make_unique<State>()) {
    std::string name = (folder / ".rekindle-rows.XXXXXX").string();
    state_->folder = folder;
    state_->file = FileDescriptor(::mkostemp(name.data(), O_CLOEXEC));
    if (!state_->file)
        throw spool_error(folder, errno);
    ::unlink(name.c_str());
}
NumberSpool::~NumberSpool() = default;
NumberSpool::NumberSpool(NumberSpool&&) noexcept = default;

void NumberSpool::append(std::span<const std::byte> bytes) {
    state_->buffer.insert(state_->buffer.end(), bytes.begin(), bytes.end());
    if (state_->buffer.size() >= 1 << 17)
        state_->flush();
}

std::span<const std::byte> NumberSpool::map() {
    state_->flush();
    if (state_->written == 0)
        return {};
    state_->mapped = ::mmap(nullptr, state_->written, PROT_READ, MAP_PRIVATE, state_->file.get(), 0);
    if (state_->mapped == MAP_FAILED) {
        state_->mapped = nullptr;
        throw spool_error(state_->folder, errno);
    }
    return {static_cast<const std::byte*>(state_->mapped), state_->written};
}

std::unique_ptr<RowStage> make_memory_stage(std::size_t expected_rows) {
    return std::make_unique<MemoryStage>(expected_rows);
}
std::unique_ptr<RowStage> make_file_stage(const std::filesystem::path& folder) {
    return std::make_unique<FileStage>(folder);
}

} // namespace rekindle::market::reading
