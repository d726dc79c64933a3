#include "memory/blocks.h"

#include <algorithm>
#include <cassert>

namespace rekindle::runtime {

std::uint64_t BlockRules::block_size(std::uint64_t requested) const {
    const std::uint64_t size = round_up(std::max<std::uint64_t>(requested, 1), alignment);
    if (!is_small(size))
        return round_up(size, page);
    const std::uint64_t step = std::bit_floor(size) / 8;
    return std::min(round_up(size, std::max(step, alignment)), small_block);
}

std::uint64_t BlockRules::segment_size(std::uint64_t block, std::uint64_t reserved_large) const {
    const std::uint64_t largest = largest_segment / alignment * alignment;
    if (is_small(block))
        return std::max(block, std::min(small_segment, largest));
    const std::uint64_t growth =
        std::clamp(round_up(reserved_large, page), first_large_segment, large_segment_cap);
    return std::max(block, std::min(growth, largest));
}

BlockArena::ListIndex BlockArena::list_of(std::uint64_t size) {
    const std::uint64_t units = size / BlockRules::alignment;
    const auto octave = static_cast<std::size_t>(std::bit_width(units) - 1);
    const std::uint64_t rest = units - (std::uint64_t{1} << octave);
    const auto step = static_cast<std::size_t>(octave >= 3 ? rest >> (octave - 3) : rest << (3 - octave));
    return {std::min(octave, octaves - 1), step};
}

BlockArena::FreeLists& BlockArena::lists(std::uint32_t bin, bool small) {
    if (bin >= bins_.size())
        bins_.resize(bin + 1);
    auto& lists = bins_[bin][small ? 0 : 1];
    if (!lists)
        lists = std::make_unique<FreeLists>();
    return *lists;
}

void BlockArena::link(Block* block) {
    FreeLists& all = lists(block->segment->bin, block->segment->small);
    const auto [octave, step] = list_of(block->size);
    Block*& head = all.heads[octave][step];
    block->free = true;
    block->previous_free = nullptr;
    block->next_free = head;
    if (head)
        head->previous_free = block;
    head = block;
    all.steps_used[octave] |= static_cast<std::uint8_t>(1u << step);
    all.octaves_used |= std::uint64_t{1} << octave;
    if (block->size != block->segment->size) {
        Splits& splits = this->splits(block->segment->small);
        splits.count.rise(1);
        splits.bytes.rise(block->size);
    }
}

void BlockArena::unlink(Block* block) {
    FreeLists& all = lists(block->segment->bin, block->segment->small);
    const auto [octave, step] = list_of(block->size);
    if (block->next_free)
        block->next_free->previous_free = block->previous_free;
    if (block->previous_free)
        block->previous_free->next_free = block->next_free;
    else
        all.heads[octave][step] = block->next_free;
    block->free = false;
    if (block->size != block->segment->size) {
        Splits& splits = this->splits(block->segment->small);
        splits.count.fall(1);
        splits.bytes.fall(block->size);
    }
    if (all.heads[octave][step])
        return;
    all.steps_used[octave] &= static_cast<std::uint8_t>(~(1u << step));
    if (all.steps_used[octave] == 0)
        all.octaves_used &= ~(std::uint64_t{1} << octave);
}

BlockArena::Block* BlockArena::best_in(Block* head, std::uint64_t size) {
    Block* best = nullptr;
    for (Block* block = head; block; block = block->next_free) {
        if (block->size == size)
            return block;
        if (block->size > size && (!best || block->size < best->size))
            best = block;
    }
    return best;
}

BlockArena::Block* BlockArena::find(const FreeLists& all, std::uint64_t size) {
    const auto [octave, step] = list_of(size);
    if (Block* block = best_in(all.heads[octave][step], size))
        return block;
    if (const unsigned larger = all.steps_used[octave] & (0xFEu << step) & 0xFFu)
        return best_in(all.heads[octave][static_cast<std::size_t>(std::countr_zero(larger))], size);
    const std::uint64_t above = octave + 1 < 64 ? all.octaves_used >> (octave + 1) << (octave + 1) : 0;
    if (above == 0)
        return nullptr;
    const auto next = static_cast<std::size_t>(std::countr_zero(above));
    return best_in(all.heads[next][static_cast<std::size_t>(std::countr_zero(all.steps_used[next]))], size);
}

BlockArena::Block* BlockArena::new_block() {
    if (spare_.empty())
        return &blocks_.emplace_back();
    Block* block = spare_.back();
    spare_.pop_back();
    *block = Block{};
    return block;
}

void BlockArena::forget(Block* block) {
    block->segment = nullptr;
    spare_.push_back(block);
}

/// Takes a free block; the remainder becomes a free block after it.
BlockArena::Block* BlockArena::carve(Block* block, std::uint64_t size) {
    unlink(block);
    const std::uint64_t rest = block->size - size;
    if (rest >= (block->segment->small ? BlockRules::alignment : rules_.large_remainder)) {
        Block* behind = new_block();
        behind->segment = block->segment;
        behind->offset = block->offset + size;
        behind->size = rest;
        behind->before = block;
        behind->after = block->after;
        if (block->after)
            block->after->before = behind;
        block->after = behind;
        block->size = size;
        mark(behind);
        link(behind);
    }
    block->segment->taken += block->size;
    return block;
}

BlockArena::Block* BlockArena::take(std::uint32_t bin, std::uint64_t size) {
    Block* block = find(lists(bin, rules_.is_small(size)), size);
    return block ? carve(block, size) : nullptr;
}

BlockArena::Block* BlockArena::take_in(Segment& segment, std::uint64_t size) {
    if (!segment.small)
        size = std::max(size, segment.stretch);
    Block* best = nullptr;
    for (Block* block = segment.first; block; block = block->after)
        if (block->free && block->size >= size && (!best || block->size < best->size))
            best = block;
    return best ? carve(best, size) : nullptr;
}

void BlockArena::give(Block* block) {
    assert(!block->free);
    block->segment->taken -= block->size;
    if (Block* behind = block->after; behind && behind->free) {
        unlink(behind);
        block->size += behind->size;
        block->after = behind->after;
        if (behind->after)
            behind->after->before = block;
        unmark(behind);
        forget(behind);
    }
    if (Block* ahead = block->before; ahead && ahead->free) {
        unlink(ahead);
        ahead->size += block->size;
        ahead->after = block->after;
        if (block->after)
            block->after->before = ahead;
        unmark(block);
        forget(block);
        block = ahead;
    }
    link(block);
}

void BlockArena::mark(Block* block) {
    const std::uint64_t i = block->offset / block->segment->stretch;
    block->segment->begins[i] = block;
    block->segment->marks[i / 64] |= std::uint64_t{1} << (i % 64);
}

void BlockArena::unmark(Block* block) {
    const std::uint64_t i = block->offset / block->segment->stretch;
    block->segment->begins[i] = nullptr;
    block->segment->marks[i / 64] &= ~(std::uint64_t{1} << (i % 64));
}

BlockArena::Block* BlockArena::at(const Segment& segment, std::uint64_t offset) {
    assert(offset < segment.size);
    const std::uint64_t i = offset / segment.stretch;
    if (Block* const block = segment.begins[i]; block && block->offset <= offset)
        return block;
    // The last block that begins in an earlier stretch.
    std::uint64_t word = i / 64;
    std::uint64_t marks = segment.marks[word] & ((std::uint64_t{1} << (i % 64)) - 1);
    while (marks == 0)
        marks = segment.marks[--word];
    return segment.begins[word * 64 + static_cast<std::uint64_t>(std::bit_width(marks)) - 1];
}

BlockArena::Block* BlockArena::add_taken(std::uint32_t bin, std::uint64_t size) {
    return add_block(bin, size, false, size);
}

BlockArena::Block* BlockArena::add_block(std::uint32_t bin, std::uint64_t size, bool small,
                                         std::uint64_t stretch) {
    auto segment = std::make_unique<Segment>();
    Block* block = new_block();
    block->segment = segment.get();
    block->size = size;
    segment->size = segment->taken = size;
    segment->bin = bin;
    segment->small = small;
    segment->stretch = stretch;
    segment->begins.resize((size + stretch - 1) / stretch);
    segment->marks.resize(segment->begins.size() / 64 + 1);
    segment->first = block;
    segment->place = segments_.size();
    segments_.push_back(std::move(segment));
    mark(block);
    reserved_ += size;
    if (!small)
        reserved_large_ += size;
    return block;
}

BlockArena::Segment& BlockArena::add(std::uint32_t bin, std::uint64_t size, bool small) {
    // At most one block begins in each stretch: in large segments, taken blocks are larger than small_block,
    // and remainders have at least large_remainder bytes.
    Block* block =
        add_block(bin, size, small,
                  small ? BlockRules::alignment : std::min(rules_.small_block, rules_.large_remainder));
    Segment& segment = *block->segment;
    segment.taken = 0;
    link(block);
    return segment;
}

std::unique_ptr<SegmentMemory> BlockArena::remove(Segment& segment) {
    assert(!segment.first->after && segment.first->size == segment.size);
    if (segment.first->free)
        unlink(segment.first);
    forget(segment.first);
    reserved_ -= segment.size;
    if (!segment.small)
        reserved_large_ -= segment.size;
    auto memory = std::move(segment.memory);
    const std::size_t place = segment.place;
    std::swap(segments_[place], segments_.back());
    segments_[place]->place = place;
    segments_.pop_back();
    return memory;
}

void BlockArena::move_to_bin(Segment& segment, std::uint32_t bin) {
    const std::uint32_t old = segment.bin;
    for (Block* block = segment.first; block; block = block->after) {
        if (!block->free)
            continue;
        segment.bin = old;
        unlink(block);
        segment.bin = bin;
        link(block);
    }
    segment.bin = bin;
}

} // namespace rekindle::runtime
