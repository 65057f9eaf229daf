/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * ECN*: crates/transport/src/cc/ecn_star.rs. Halves the window itself on an echoed mark, at
 * most once per window of data; a loss in the window of a cut is repaired without another cut.
 */
#ifndef TIDEGATE_ECN_STAR_RULE_H
#define TIDEGATE_ECN_STAR_RULE_H

#include "rule.h"

struct rule_params {
	u32 min_window; /* segments */
	u32 regrowth;
	u32 abc;
};

struct rule {
	struct tg_window w;
	struct tg_once once;
};

static __always_inline void rule_begin(struct rule *r, const volatile struct rule_params *p, u32 mss, u32 initial,
				       u32 first)
{
	window_begin(&r->w, mss, initial, p->abc);
	r->once.is_open = r->once.frozen = r->once.echoing = 0;
}

static __always_inline void halve(struct rule *r, const volatile struct rule_params *p)
{
	u32 half = r->w.window / 2, mss = r->w.mss;

	window_cut(&r->w, smaller(larger(half, mss * p->min_window), r->w.window), larger(half, 2 * mss));
}

/* Whether the window was reduced. */
static __always_inline bool rule_on_ack(struct rule *r, const volatile struct rule_params *p,
					const struct tg_acked *acked)
{
	bool grows = once_on_ack(&r->once, acked->ack, acked->echo, p->regrowth);
	bool cuts = acked->echo && !acked->in_recovery && !r->once.is_open;

	if (cuts) {
		halve(r, p);
		once_reacted(&r->once, acked->sent, true);
		grows = p->regrowth == REGROWTH_CONTINUES;
	}
	if (acked->may_grow && grows)
		window_grow(&r->w, acked->bytes, p->abc, false);
	return cuts;
}

static __always_inline void rule_on_loss(struct rule *r, const volatile struct rule_params *p, u32 una,
					 u32 sent)
{
	/* A loss of data sent after the reaction cuts again, also of its first byte. */
	if (!r->once.is_open || !is_after(r->once.end, una))
		halve(r, p);
	once_reacted(&r->once, sent, false);
}

static __always_inline void rule_on_recovered(struct rule *r, const volatile struct rule_params *p, u32 ack)
{
	/* The window has answered marks of data up to this ACK, which may still carry ECE. */
	once_reacted(&r->once, ack, false);
}

static __always_inline void rule_on_timeout(struct rule *r, const volatile struct rule_params *p, u32 flight,
					    u32 sent, bool repeated)
{
	window_collapse(&r->w, window_half(&r->w, r->w.window), repeated);
	once_reacted(&r->once, sent, false);
}

static __always_inline void rule_on_idle(struct rule *r, const volatile struct rule_params *p, u32 initial, u32 next)
{
	window_idle(&r->w, initial);
}

/* It has no estimate. */
static __always_inline u32 rule_alpha(const struct rule *r)
{
	return 0;
}

#endif
