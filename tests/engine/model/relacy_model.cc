/*
 * tests/engine/model/relacy_model.cc --
 *
 *	C11's atomic operations (include/stdatomic.h) in Relacy's memory model, and the program that
 *	executes the scenarios:
 *
 *	    ring_model ?-random N? ?-bound N? ?-events N? ?-seed STATE? ?NAME ...?
 *
 *	-random: so many random executions of each scenario. -bound: every execution with at most so many
 *	preemptions. -events: that each writer writes. -seed repeats a failed execution. With
 *	MODEL_HISTORY=1 in the environment, a failed execution's operations are printed.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include <relacy/relacy.hpp>
#undef new
#undef delete
#undef malloc
#undef calloc
#undef realloc
#undef free
#undef assert
#undef memory_order_relaxed
#undef memory_order_consume
#undef memory_order_acquire
#undef memory_order_release
#undef memory_order_acq_rel
#undef memory_order_seq_cst

#include "model.h"

struct ModelSite {
    const char *function, *file;
    int line;
};

namespace {

typedef rl::generic_atomic<uint64_t, false> Word;

const ModelScenario *scenario;
const char *failedCheck;
bool isRandom; /* the executions; otherwise all with so many preemptions */
bool inThreads; /* not in before and after */

/*
 * The words of the execution that runs. A hash table without deleting, of fixed size: Relacy replaces the
 * global operators new and delete.
 */
struct Words {
    enum { SLOTS = 4096 };
    struct Slot {
        const void *at;
        alignas(Word) unsigned char bytes[sizeof(Word)];
    } slots[SLOTS];
    unsigned used[SLOTS], count;

    /* The word of an address; inThreads: it was published before. */
    Word &at(const void *address)
    {
        unsigned i = (unsigned)((uintptr_t)address / 4 * 2654435761u) % SLOTS;
        while (slots[i].at != nullptr && slots[i].at != address) {
            i = (i + 1) % SLOTS;
        }
        if (slots[i].at == nullptr) {
            if (inThreads || count == SLOTS / 2) {
                std::fprintf(stderr, "an atomic word that the scenario did not publish\n");
                std::abort();
            }
            slots[i].at = address;
            used[count++] = i;
            ::new (slots[i].bytes) Word;
        }
        return *reinterpret_cast<Word *>(slots[i].bytes);
    }
    /* A failed execution is repeated for its history after its words were lost: then without destructors. */
    void clear(bool destroy)
    {
        while (count > 0) {
            Slot &slot = slots[used[--count]];
            if (destroy) {
                reinterpret_cast<Word *>(slot.bytes)->~Word();
            }
            slot.at = nullptr;
        }
    }
} words;

const rl::memory_order orders[] = {rl::mo_relaxed, rl::mo_consume, rl::mo_acquire, rl::mo_release,
        rl::mo_acq_rel, rl::mo_seq_cst};

/* The newest value is kept in the memory itself, too. */
void put(void *at, unsigned size, uint64_t value)
{
    std::memcpy(at, &value, size); /* little endian, as all of etw */
}

uint64_t cut(unsigned size, uint64_t value)
{
    return size == 4 ? (uint32_t)value : value;
}

rl::debug_info infoOf(const ModelSite &site)
{
    return rl::debug_info(site.function, site.file, (unsigned)site.line);
}

template <int threads>
struct Suite : rl::test_suite<Suite<threads>, threads> {
    Suite() { words.clear(false); }
    ~Suite() { words.clear(true); }
    void before()
    {
        inThreads = false;
        scenario->before();
        inThreads = true;
    }
    void thread(unsigned index)
    {
        scenario->thread((int)index);
    }
    void after()
    {
        inThreads = false;
        scenario->after();
    }
};

bool execute(rl::test_params &params)
{
    switch (scenario->threads) {
    case 2:
        return rl::simulate<Suite<2>>(params);
    case 3:
        return rl::simulate<Suite<3>>(params);
    default:
        return rl::simulate<Suite<4>>(params);
    }
}

} // namespace

extern "C" {

uint64_t ModelLoad(const void *at, unsigned size, int order, ModelSite site)
{
    ModelStep();
    return cut(size, words.at(at).load(orders[order], infoOf(site)));
}

void ModelStore(void *at, unsigned size, uint64_t value, int order, ModelSite site)
{
    ModelStep();
    Word &word = words.at(at);
    word.store(cut(size, value), orders[order], infoOf(site));
    put(at, size, word.debug_value());
}

bool ModelCompareExchange(void *at, unsigned size, void *expected, uint64_t value, bool weak,
        int success, int failure, ModelSite site)
{
    ModelStep();
    Word &word = words.at(at);
    uint64_t wanted = 0;
    bool done;
    std::memcpy(&wanted, expected, size);
    done = weak ? word.compare_exchange(rl::bool_t<true>(), wanted, cut(size, value),
                          orders[success], orders[failure], infoOf(site))
                : word.compare_exchange(rl::bool_t<false>(), wanted, cut(size, value),
                          orders[success], orders[failure], infoOf(site));
    std::memcpy(expected, &wanted, size);
    put(at, size, word.debug_value());
    return done;
}

uint64_t ModelExchange(
        int operation, void *at, unsigned size, uint64_t value, int order, ModelSite site)
{
    ModelStep();
    Word &word = words.at(at);
    rl::debug_info info = infoOf(site);
    uint64_t old = operation == 0 ? word.rmw(rl::rmw_type_t<rl::rmw_type_add>(), value, orders[order], info)
                 : operation == 1 ? word.rmw(rl::rmw_type_t<rl::rmw_type_or>(), value, orders[order], info)
                                  : word.rmw(rl::rmw_type_t<rl::rmw_type_swap>(), value, orders[order], info);
    put(at, size, word.debug_value());
    return cut(size, old);
}

void ModelFence(int order, ModelSite site)
{
    ModelStep();
    rl::atomic_thread_fence(orders[order], infoOf(site));
}

void ModelPublish(const void *at, unsigned size)
{
    uint64_t value = 0;
    std::memcpy(&value, at, size);
    words.at(at).store(value, rl::mo_seq_cst, $);
}

int ModelThread(void)
{
    return inThreads ? (int)rl::ctx().threadx_->index_ : -1;
}

bool ModelRarely(void)
{
    return rl::rand(isRandom ? 16 : 2) == 1;
}

void ModelYield(void)
{
    rl::yield(1, $);
}

void ModelCheck(bool isTrue, const char *what)
{
    if (!isTrue) {
        failedCheck = what;
        RL_ASSERT(isTrue);
    }
}

} // extern "C"

int main(int argc, char **argv)
{
    long random = 0, bound = -1;
    const char *seed = "";
    int failed = 0, i = 1;
    for (; i + 1 < argc && argv[i][0] == '-'; i += 2) {
        const char *option = argv[i], *value = argv[i + 1];
        if (std::strcmp(option, "-random") == 0) {
            random = std::atol(value);
        } else if (std::strcmp(option, "-bound") == 0) {
            bound = std::atol(value);
        } else if (std::strcmp(option, "-events") == 0) {
            modelEvents = std::atoi(value);
        } else if (std::strcmp(option, "-seed") == 0) {
            seed = value;
        } else {
            std::fprintf(stderr, "unknown option \"%s\"\n", option);
            return 2;
        }
    }
    for (int s = 0; s < modelScenarioCount; s++) {
        bool wanted = i >= argc && std::strcmp(modelScenarios[s].name, "defect") != 0;
        for (int k = i; k < argc; k++) {
            wanted = wanted || std::strcmp(argv[k], modelScenarios[s].name) == 0;
        }
        for (int pass = 0; wanted && pass < 2; pass++) {
            rl::test_params params;
            static std::ostream nowhere(nullptr);
            bool ok;
            scenario = &modelScenarios[s];
            if (pass == 0 ? random <= 0 : bound < 0) {
                continue;
            }
            params.search_type = pass == 0 ? rl::random_scheduler_type : rl::fair_context_bound_scheduler_type;
            isRandom = pass == 0;
            params.iteration_count = (rl::iteration_t)random;
            params.context_bound = (unsigned)bound;
            params.execution_depth_limit = 20000;
            params.output_stream = std::getenv("MODEL_HISTORY") ? &std::cout : &nowhere;
            params.progress_stream = &nowhere;
            params.initial_state = seed;
            ok = execute(params);
            std::printf("%s %s %s: %llu executions\n", ok ? "ok    " : "FAILED", scenario->name,
                    pass == 0 ? "random" : "bound", (unsigned long long)params.stop_iteration);
            if (!ok) {
                std::printf("    %s\n    -seed %s\n", failedCheck ? failedCheck : "see MODEL_HISTORY=1",
                        params.final_state.c_str());
                failed++;
            }
            std::fflush(stdout);
        }
    }
    return failed != 0;
}
