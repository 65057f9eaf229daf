/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The marking schemes of crates/dataplane/src/mark: plain numbers in, the rule of a mark out. They
 * touch no packet, so that a test can call them with any numbers and compare every decision with
 * the library's. The unused schemes of a port are removed when its program is loaded.
 */
#ifndef TIDEGATE_SCHEME_H
#define TIDEGATE_SCHEME_H

#include "codel.h"
#include "diff_ecn.h"
#include "ecn_sharp.h"
#include "red.h"
#include "tcn.h"

/* Facts of a packet. Lengths exclude it. Times are picoseconds since the port was loaded. */
struct tg_cx {
	u64 now;
	u64 sojourn;
	u32 queue;
	u32 queue_bytes;
	u32 queue_packets;
	u32 port_bytes;
	u32 port_packets;
	u32 pool_bytes;
	u32 len;
	u32 flow;
	u32 capable;
	u32 unused;
};

struct tg_queue_state {
	struct tg_codel_state codel;
	struct tg_sharp_state sharp;
	u64 count; /* RED's correction */
};

/* State of the port's scheme. */
struct tg_queue_state states[TG_QUEUES];
struct tg_sharp_clock chip_clock;
struct tg_diff_state diff;
u32 lengths[TG_QUEUES]; /* bytes in each queue, for a scheme that chooses the queue */

static __always_inline u32 red_decide(const struct tg_cx *cx)
{
	u32 slot = setup.red.per_port ? 0 : cx->queue & TG_LAST;
	u32 bytes = setup.red.per_port ? cx->port_bytes : cx->queue_bytes;
	u32 packets = setup.red.per_port ? cx->port_packets : cx->queue_packets;

	if (!red_marks(&setup.red.law, &setup.red.ramps[slot], &states[slot].count, bytes, packets, cx->len))
		return TG_PASS;
	return setup.red.per_port ? TG_PORT_LENGTH : TG_QUEUE_LENGTH;
}

/* BCC: crates/dataplane/src/mark/bcc.rs. The port's own length, or the pool that ports share. */
static __always_inline u32 bcc_decide(const struct tg_cx *cx)
{
	bool port = red_marks(&setup.bcc.port_law, &setup.bcc.port, &states[0].count, cx->port_bytes, 0, cx->len);
	bool pool = red_marks(&setup.bcc.pool_law, &setup.bcc.pool, &states[1].count, cx->pool_bytes, 0, cx->len);

	return port ? TG_PORT_LENGTH : pool ? TG_POOL_LENGTH : TG_PASS;
}

/* Queue of an arriving packet; `proposed` is the classifier's. */
static __always_inline u32 scheme_assign(const struct tg_cx *cx, u32 proposed)
{
	if (setup.scheme == TG_DIFF_ECN)
		return diff_assign(&diff, lengths, cx->flow, cx->len, cx->now);
	return proposed;
}

/* Rule that marks an admitted packet before it is queued. */
static __always_inline u32 scheme_on_enqueue(const struct tg_cx *cx)
{
	if (setup.scheme == TG_RED && !setup.red.law.at_dequeue)
		return red_decide(cx);
	return TG_PASS;
}

static __always_inline void scheme_on_queued(const struct tg_cx *cx)
{
	if (setup.scheme == TG_DIFF_ECN)
		diff_queued(&diff, cx->queue, cx->flow, cx->len, cx->now);
}

/* Rule that marks a packet that has left its queue. */
static __always_inline u32 scheme_on_dequeue(const struct tg_cx *cx)
{
	struct tg_queue_state *state = &states[cx->queue & TG_LAST];

	switch (setup.scheme) {
	case TG_BCC:
		return bcc_decide(cx);
	case TG_CODEL:
		return codel_marks(&state->codel, cx->now, cx->sojourn, cx->queue_bytes, cx->capable) ?
			       TG_PERSISTENT : TG_PASS;
	case TG_DIFF_ECN:
		return diff_marks(&diff, cx->queue, cx->queue_bytes, cx->queue_packets, cx->flow, cx->len, cx->now) ?
			       TG_FLOW_SHARE : TG_PASS;
	case TG_ECN_SHARP:
		return sharp_decide(&state->sharp, &chip_clock, cx->now, cx->sojourn, cx->queue_bytes);
	case TG_RED:
		return setup.red.law.at_dequeue ? red_decide(cx) : TG_PASS;
	case TG_TCN:
		return tcn_marks(cx->now, cx->sojourn) ? TG_SOJOURN : TG_PASS;
	default:
		return TG_PASS;
	}
}

#endif
