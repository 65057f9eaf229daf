/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * DiffECN: crates/dataplane/src/mark/diff_ecn, with the tables of the switch program. A flow gets a
 * queue of its own while one is free; its packets are marked while the queue is longer than the
 * flow's share of the threshold.
 */
#ifndef TIDEGATE_DIFF_ECN_H
#define TIDEGATE_DIFF_ECN_H

#include "arith.h"

#define TG_FLOWS (TG_QUEUES * 512)
#define TG_REGISTERS (1 << 14)

/* An entry of the flow map, by the low bits of the flow's hash. */
struct tg_flow {
	u64 stamp; /* arrival of the last packet, or how often its queue had been empty */
	u32 passed; /* bytes through the priority queue */
	u32 queue; /* one more than its number; zero before the first packet */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TG_FLOWS);
	__type(key, u32);
	__type(value, struct tg_flow);
} flows SEC(".maps");

/* Register array of the flow count: the hash last written to each. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TG_REGISTERS);
	__type(key, u32);
	__type(value, u32);
} registers SEC(".maps");

struct tg_diff_state {
	u64 emptied[TG_QUEUES]; /* how often each queue became empty */
	u64 started; /* begin of the period */
	u32 occupied; /* a bit for each queue that holds packets */
	u32 sequence; /* number of the period */
	u32 last; /* flows of the period before */
	u32 current;
};

/* The finaliser of MurmurHash3, by Appleby, in the public domain. */
static __always_inline u32 diff_mix(u32 x)
{
	x ^= x >> 16;
	x *= 0x85ebca6b;
	x ^= x >> 13;
	x *= 0xc2b2ae35;
	return x ^ (x >> 16);
}

static __always_inline struct tg_flow *diff_entry(u32 flow)
{
	u32 key = diff_mix(flow) & (u32)setup.diff_ecn.map_mask;

	return bpf_map_lookup_elem(&flows, &key);
}

static __always_inline bool diff_lives(const struct tg_diff_state *state, const struct tg_flow *entry, u64 now)
{
	if (!entry->queue)
		return false;
	if (setup.diff_ecn.idle_release)
		return minus(now, entry->stamp) <= setup.diff_ecn.idle_release;
	return state->emptied[(entry->queue - 1) & TG_LAST] == entry->stamp;
}

/* The shortest ordinary queue, and of equals the first. */
static __always_inline u32 diff_shortest(const u32 *lengths)
{
	u32 queue, best = 0, least = 0xffffffff;
	bool found = false;

	for (queue = 0; queue < TG_QUEUES; queue++) {
		if (queue >= setup.queues || queue == setup.diff_ecn.priority_queue)
			continue;
		if (!found || lengths[queue] < least) {
			found = true;
			best = queue;
			least = lengths[queue];
		}
	}
	return best;
}

static __always_inline u32 diff_lowest_empty(const struct tg_diff_state *state)
{
	u32 queue;

	for (queue = 0; queue < TG_QUEUES; queue++)
		if (queue < setup.queues && queue != setup.diff_ecn.priority_queue &&
		    !(state->occupied & (1u << queue)))
			return queue;
	return (u32)setup.diff_ecn.priority_queue;
}

/* Queue of an arriving packet. It changes nothing: the packet may still be dropped. */
static __always_inline u32 diff_assign(const struct tg_diff_state *state, const u32 *lengths, u32 flow, u32 len,
				       u64 now)
{
	struct tg_flow *entry = diff_entry(flow);
	u64 passed;

	if (!entry || !diff_lives(state, entry, now))
		return diff_lowest_empty(state);
	if (entry->queue - 1 != setup.diff_ecn.priority_queue)
		return entry->queue - 1;
	passed = (u64)entry->passed + (setup.diff_ecn.counts_arrival ? len : 0);
	if (passed > setup.diff_ecn.pass_limit)
		return diff_shortest(lengths);
	return diff_lowest_empty(state);
}

static __always_inline void diff_queued(struct tg_diff_state *state, u32 queue, u32 flow, u32 len, u64 now)
{
	struct tg_flow *entry = diff_entry(flow);
	u64 passed;

	state->occupied |= 1u << (queue & TG_LAST);
	if (!entry)
		return;
	passed = diff_lives(state, entry, now) ? entry->passed : 0;
	if (queue == setup.diff_ecn.priority_queue)
		passed += len;
	entry->passed = passed >> 32 ? 0xffffffff : (u32)passed;
	entry->queue = queue + 1;
	entry->stamp = setup.diff_ecn.idle_release ? now : state->emptied[queue & TG_LAST];
}

/* Algorithm 1, lines 26 to 39; the packet that begins a period is not counted. */
static __always_inline void diff_count(struct tg_diff_state *state, u32 flow, u64 now)
{
	u32 low = (u32)setup.diff_ecn.count_mask, hash, value, key, *last;

	if (minus(now, state->started) > setup.diff_ecn.period) {
		state->sequence++;
		state->last = state->current;
		state->current = 0;
		state->started = now;
		return;
	}
	hash = diff_mix(diff_mix(flow) + state->sequence * 0x9e3779b9);
	value = (hash & ~low) | (state->sequence & low);
	key = hash & low;
	last = bpf_map_lookup_elem(&registers, &key);
	/* A register starts with all bits set, as if written in the period before the first. */
	if (last && *last != ~value) {
		*last = ~value;
		state->current += state->current != 0xffffffff;
	}
}

static __always_inline bool diff_marks(struct tg_diff_state *state, u32 queue, u32 queue_bytes, u32 queue_packets,
				       u32 flow, u32 len, u64 now)
{
	u64 count, length = (u64)queue_bytes + (setup.diff_ecn.inclusive ? len : 0);

	diff_count(state, flow, now);
	count = state->last > state->current ? state->last : state->current;
	if (count > setup.queues)
		count = setup.queues;
	if (!queue_packets) {
		state->occupied &= ~(1u << (queue & TG_LAST));
		state->emptied[queue & TG_LAST]++;
	}
	if (count > TG_QUEUES)
		return false;
	return length > setup.diff_ecn.thresholds[count];
}

#endif
