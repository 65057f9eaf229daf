/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A port: the queues of packets, the buffer, the wire's pace and the classes.
 * crates/dataplane/src/port in the kernel.
 *
 * The kernel holds the lock of the qdisc in every call, so that only the pool, which ports share,
 * needs atomic operations. The lock of a list is never contended; the verifier asks for it.
 */
#ifndef TIDEGATE_PORT_H
#define TIDEGATE_PORT_H

#include "counters.h"
#include "kernel.h"
#include "scheduler.h"
#include "scheme.h"

/* A waiting packet. */
struct tg_packet {
	struct sk_buff __kptr *skb;
	struct bpf_list_node node;
	u64 arrival; /* picoseconds */
	u32 len; /* bytes as the scheme counts them */
	u32 frame; /* bytes of the frame */
	u32 flow;
	u8 ecn;
	u8 rule; /* of a mark on arrival */
	u8 on_reserve;
};

struct tg_list {
	struct bpf_spin_lock lock;
	struct bpf_list_head packets __contains(tg_packet, node);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TG_QUEUES);
	__type(key, u32);
	__type(value, struct tg_list);
} lists SEC(".maps");

/* The pool, one for all ports that are loaded together. */
struct tg_pool {
	u64 bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct tg_pool);
} pool SEC(".maps");

struct {
	u64 started; /* nanoseconds: the kernel's clock at time zero */
	u64 due; /* picoseconds: the wire is free */
	u32 bytes;
	u32 packets;
	u32 reserved; /* bytes on the port's reserve */
	u32 queued[TG_QUEUES]; /* packets; bytes are in `lengths` */
} port;

/* Picoseconds since time zero. */
static __always_inline u64 port_clock(void)
{
	return (bpf_ktime_get_ns() - port.started) * 1000;
}

/* Codepoints of ECN. */
#define TG_NOT_ECT 0
#define TG_CE 3

/* Type of service or traffic class; zero for a packet that is not IP, as for one without ECN. */
static __always_inline u8 port_ds_field(const struct sk_buff *skb)
{
	u16 protocol = bpf_ntohs(skb->protocol);
	u8 head[2];

	if (protocol != 0x0800 && protocol != 0x86dd)
		return 0;
	if (bpf_probe_read_kernel(head, sizeof(head), skb->head + skb->network_header))
		return 0;
	return protocol == 0x0800 ? head[1] : (u8)(head[0] << 4 | head[1] >> 4);
}

/* Bytes of a packet on the wire: the kernel counts the headers of every segment. */
static __always_inline u32 port_length(const struct sk_buff *skb, u32 frame)
{
	u32 segments;

	if (frame < setup.padded)
		frame = (u32)setup.padded;
	if (!setup.framing)
		return frame;
	segments = bpf_core_cast(skb->head + skb->end, struct skb_shared_info)->gso_segs;
	return frame + (u32)setup.framing * (segments ? segments : 1);
}

static __always_inline u32 port_class(const struct sk_buff *skb, u8 field)
{
	u32 class = field >> 2;

	if (setup.by_priority)
		class = skb->priority < TG_CLASSES ? skb->priority : TG_CLASSES - 1;
	return (u32)setup.classes[class & (TG_CLASSES - 1)] & TG_LAST;
}

static __always_inline struct tg_pool *port_pool(void)
{
	u32 zero = 0;

	return setup.pool_size ? bpf_map_lookup_elem(&pool, &zero) : NULL;
}

static __always_inline u32 port_pool_bytes(void)
{
	struct tg_pool *shared = port_pool();
	u64 bytes = shared ? shared->bytes : 0;

	return bytes >> 32 ? 0xffffffff : (u32)bytes;
}

/* Charges a packet to the pool: crates/dataplane/src/buffer/dynamic_threshold. */
static __always_inline bool port_enter_pool(u32 queue, u32 len)
{
	u64 length = setup.port_share ? port.bytes : lengths[queue], before, free;
	struct tg_pool *shared = port_pool();

	if (!shared)
		return false;
	/* Taken first, and given back if there was no room: other ports take at the same time. */
	before = __sync_fetch_and_add(&shared->bytes, len);
	free = minus(setup.pool_size, before);
	if (len <= free) {
		u64 limit = setup.alpha_over[queue] * free, under = setup.alpha_under[queue];

		if (setup.before_packet ? length * under < limit : (length + len) * under <= limit)
			return true;
	}
	__sync_fetch_and_add(&shared->bytes, -(u64)len);
	return false;
}

/* Reason to drop an arriving packet, or TG_DROPS. */
static __always_inline u32 port_admit(u32 queue, u32 len, u8 *on_reserve)
{
	if (!setup.pool_size) {
		u64 held = setup.limits_packets ? (u64)port.packets + 1 : (u64)port.bytes + len;

		return held > setup.limit ? TG_PORT_FULL : TG_DROPS;
	}
	if ((u64)port.reserved + len <= setup.reserve) {
		port.reserved += len;
		*on_reserve = 1;
		return TG_DROPS;
	}
	return port_enter_pool(queue, len) ? TG_DROPS : TG_POOL_FULL;
}

static __always_inline void port_release(u32 len, u8 on_reserve)
{
	struct tg_pool *shared = port_pool();

	if (on_reserve)
		port.reserved -= len;
	else if (shared)
		__sync_fetch_and_add(&shared->bytes, -(u64)len);
}

/* Facts for a decision on a packet that is not among the counted ones. */
static __always_inline void port_facts(struct tg_cx *cx, u64 now, u32 queue, u32 len, u32 flow, u8 ecn)
{
	cx->now = now;
	cx->queue = queue;
	cx->queue_bytes = lengths[queue & TG_LAST];
	cx->queue_packets = port.queued[queue & TG_LAST];
	cx->port_bytes = port.bytes;
	cx->port_packets = port.packets;
	cx->pool_bytes = setup.scheme == TG_BCC ? port_pool_bytes() : 0;
	cx->len = len;
	cx->flow = flow;
	cx->capable = ecn != TG_NOT_ECT;
}

/* A packet came to an empty port: the wire is not late. */
static __always_inline void port_on_first(u64 now)
{
	if (port.due < now)
		port.due = now;
}

/* Puts a packet on the wire: crates/live/src/pacer.rs. */
static __always_inline void port_pace(u64 now, u32 len)
{
	u64 start = minus(now, setup.catch_up), span = setup.byte_time * len;

	if (start < port.due)
		start = port.due;
	counters.lost += (start - port.due) / 1000;
	if (setup.byte_rest)
		span += (setup.byte_rest * len + setup.rate - 1) / setup.rate;
	port.due = start + span;
}

#endif
