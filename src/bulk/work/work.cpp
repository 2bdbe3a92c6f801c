#include "bulk/work/work.h"

#include <cassert>

namespace minhash::bulk {

void start_work(process& self, part_of_step& part)
{
    host& owner = *self.owner;
    shared_work& shared = *self.shared;
    shared.part = distance_of(part);
    shared.memory = self.budget->limit;
    shared.processes = owner.sharing ? owner.start_workers(owner, shared.number) : 1;
    shared.helped = shared.processes > 1;
}

void do_step(process& self)
{
    assert(self.shared != nullptr && self.member == 0 && self.shared->processes > 0);
    host& owner = *self.owner;
    shared_work& shared = *self.shared;
    memory_budget& budget = *self.budget;
    shared.next_unit = 0;
    shared.allowance = (budget.limit - std::min(budget.limit, budget.used)) / shared.processes;
    shared.used = shared.filed = 0;
    if (shared.helped)
        owner.meet_workers(owner);
    do_workers_part(owner, shared.number, 0);
    if (shared.helped)
        owner.meet_workers(owner);
    budget.used += shared.used;
    budget.filed += shared.filed;
}

void do_workers_part(host& owner, shared_number number, std::uint32_t member)
{
    shared_work& shared = *find_shared<shared_work>(owner, number);
    assert(member < shared.processes);
    owner.begin_phase(owner);
    memory_budget budget = make_budget(owner, shared.allowance);
    process self = {&owner, &budget, &shared, member};
    function_at<part_of_step>(shared.part)(self);
    std::atomic_ref(shared.used).fetch_add(budget.used, std::memory_order_relaxed);
    std::atomic_ref(shared.filed).fetch_add(budget.filed, std::memory_order_relaxed);
    owner.end_phase(owner);
}

void end_steps(process& self)
{
    if (self.shared == nullptr || !self.shared->helped)
        return;
    self.owner->end_workers(*self.owner);
    self.shared->helped = false;
}

void expect_stores(const process& self, shared_number& notes)
{
    allocate_shared<store_note>(*self.owner, notes, self.shared->processes);
}

void leave_store(const process& self, byte_store* store, shared_number notes)
{
    leave_store(store, find_shared<store_note>(self, notes)[self.member]);
}

byte_store** open_views(const process& self, shared_number notes, std::size_t count)
{
    byte_store** const views = allocate<byte_store*>(*self.owner, count);
    for (std::size_t i = 0; i < count; i++)
        views[i] = open_view(*self.budget, find_shared<store_note>(self, notes)[i]);
    return views;
}

byte_store** open_left(const process& self, shared_number notes)
{
    return open_views(self, notes, self.shared->processes);
}

void drop_noted(const process& self, const store_note& note)
{
    self.budget->used -= note.chunk_count * note.chunk_bytes;
    free_noted(*self.owner, note);
}

void free_left(const process& self, shared_number& notes)
{
    if (notes == 0)
        return;
    for (std::uint32_t member = 0; member < self.shared->processes; member++)
        drop_noted(self, find_shared<store_note>(self, notes)[member]);
    self.owner->release_shared(*self.owner, notes);
    notes = 0;
}

} // namespace minhash::bulk
