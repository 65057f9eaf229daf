/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * DCTCP: crates/transport/src/cc/dctcp, profile `linux-5.1`, counted in packets as the kernel
 * counts them. RFC 8257, section 3.3. Growth, the pace of a reduction and recovery are the
 * kernel's.
 */
#ifndef TIDEGATE_DCTCP_RULE_H
#define TIDEGATE_DCTCP_RULE_H

#include "rule.h"

enum dctcp_loss {
	LOSS_HALF = 0,
	LOSS_ALPHA = 1,
};

enum dctcp_echo {
	ECHO_TWO_ACKS = 0,
	ECHO_ONE_ACK = 1,
	ECHO_PAPER = 2,
};

struct dctcp_params {
	u32 gain_shift; /* g = 1/2^gain_shift */
	u32 initial_alpha; /* in 1/1024 */
	u32 min_window; /* packets */
	u32 loss;
	u32 echo;
};

/* Counts the packets that an ACK delivered. `advanced`: it acknowledged new data in order. */
static __always_inline void dctcp_on_ack(struct tg_alpha *a, const volatile struct dctcp_params *p, u32 delivered,
					 u32 marked, bool advanced, u32 ack, u32 sent)
{
	a->total += delivered;
	a->marked += marked;
	if (advanced && !is_after(a->end, ack)) {
		alpha_update(a, p->gain_shift, true);
		alpha_begin_window(a, sent);
	}
}

/* The window after marks, in packets. */
static __always_inline u32 dctcp_cut(const struct tg_alpha *a, const volatile struct dctcp_params *p, u32 cwnd)
{
	return larger(cwnd - alpha_half_of(a, cwnd), p->min_window);
}

/* The window after a loss. */
static __always_inline u32 dctcp_loss(const struct tg_alpha *a, const volatile struct dctcp_params *p, u32 cwnd)
{
	return p->loss == LOSS_ALPHA ? dctcp_cut(a, p, cwnd) : larger(cwnd / 2, 2);
}

#endif
