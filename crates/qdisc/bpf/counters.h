/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Counters of a port. src/counters.rs reads the same. Packets are the kernel's: one may be many
 * segments.
 */
#ifndef TIDEGATE_COUNTERS_H
#define TIDEGATE_COUNTERS_H

#include "arith.h"

/* Reasons for a drop, by the names of the live switch. */
enum tg_drop {
	TG_PORT_FULL,
	TG_POOL_FULL,
	TG_NOT_CAPABLE,
	TG_NO_MEMORY,
	TG_LINK_DOWN, /* the device of the qdisc went down, or the port was unloaded */
	TG_DROPS,
};

struct tg_amount {
	u64 packets;
	u64 bytes;
};

struct tg_queue_counters {
	struct tg_amount enqueued; /* bytes as the scheme counts them */
	struct tg_amount dequeued;
	u64 longest; /* nanoseconds: the longest sojourn time */
};

struct tg_counters {
	u64 started; /* nanoseconds of the kernel's clock */
	struct tg_amount received; /* bytes of frames */
	struct tg_amount sent;
	u64 marks[TG_RULES]; /* decisions, by rule */
	u64 set; /* packets that got CE */
	u64 unset; /* packets that should have got CE, and could not */
	u64 drops[TG_DROPS];
	u64 lost; /* nanoseconds in which packets waited and the wire was idle */
	struct tg_queue_counters queues[TG_QUEUES];
};

struct tg_counters counters SEC(".bss.counters");

/*
 * Sojourn times in nanoseconds: exact below 128, and within 1/128 above. A queue's times are one
 * value, so that a port has memory for its own queues alone.
 */
#define TG_FINE_BITS 7
#define TG_FINE (1u << TG_FINE_BITS)
#define TG_LONGEST_BITS 34 /* longer times count as this long: 17 s */
#define TG_TIMES ((TG_LONGEST_BITS - TG_FINE_BITS + 1) * TG_FINE)

struct tg_times {
	u64 counts[TG_TIMES];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TG_QUEUES); /* the loader sets the port's number */
	__type(key, u32);
	__type(value, struct tg_times);
} sojourn SEC(".maps");

static __always_inline void count_amount(struct tg_amount *amount, u64 bytes)
{
	amount->packets++;
	amount->bytes += bytes;
}

static __always_inline void count_sojourn(u32 queue, u64 nanoseconds)
{
	struct tg_times *times = bpf_map_lookup_elem(&sojourn, &queue);
	u32 index, shift;

	if (nanoseconds > counters.queues[queue & TG_LAST].longest)
		counters.queues[queue & TG_LAST].longest = nanoseconds;
	if (!times)
		return;
	if (nanoseconds >> TG_LONGEST_BITS)
		nanoseconds = (1ull << TG_LONGEST_BITS) - 1;
	index = (u32)nanoseconds;
	if (nanoseconds >= TG_FINE) {
		shift = magnitude(nanoseconds) - TG_FINE_BITS;
		index = (shift << TG_FINE_BITS) + (u32)(nanoseconds >> shift);
	}
	if (index < TG_TIMES)
		times->counts[index]++;
}

#endif
