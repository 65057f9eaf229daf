/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * ODCTCP's sender: crates/transport/src/cc/odctcp, which is `dctcp` in its profile
 * `freebsd-thesis`. Kato, "Improving Transmission Performance with One-Sided Datacenter TCP",
 * chapters 4 and 5: CWR on the next segment after a reduction, no pause in growth, a selectable α₀,
 * and an estimate that starts over after an idle time.
 */
#ifndef TIDEGATE_ODCTCP_RULE_H
#define TIDEGATE_ODCTCP_RULE_H

#include "rule.h"

struct rule_params {
	u32 gain_shift; /* g = 1/2^gain_shift */
	u32 initial_alpha; /* in 1/1024 */
	u32 min_window; /* segments */
	u32 regrowth;
	u32 abc;
};

struct rule {
	struct tg_window w;
	struct tg_once once;
	struct tg_alpha a;
	u32 before_mark; /* the window that the last echo found; 0 outside the window of a cut */
};

static __always_inline void rule_begin(struct rule *r, const volatile struct rule_params *p, u32 mss,
					 u32 initial, u32 first)
{
	window_begin(&r->w, mss, initial, p->abc);
	r->once.is_open = r->once.frozen = r->once.echoing = 0;
	alpha_reset(&r->a, p->initial_alpha, first);
	r->before_mark = 0;
}

static __always_inline void end_sample(struct rule *r, const volatile struct rule_params *p, u32 sent)
{
	alpha_update(&r->a, p->gain_shift, false);
	alpha_begin_window(&r->a, sent);
}

/* An ACK at once on a change of CE covers the older segment too: that one belongs to the state
 * before. */
static __always_inline void count(struct rule *r, u32 bytes, bool echo)
{
	u32 before = echo != r->a.echoing && bytes > r->w.mss ? r->w.mss : 0;

	r->a.total += bytes;
	r->a.marked += echo ? bytes - before : before;
	r->a.echoing = echo;
}

static __always_inline void cut(struct rule *r, const volatile struct rule_params *p)
{
	u32 mss = r->w.mss, window = r->w.window;
	u32 scaled = (window - alpha_half_of(&r->a, window)) / mss * mss;

	r->before_mark = window;
	window_cut(&r->w, smaller(larger(scaled, mss * p->min_window), window),
		   larger(scaled, 2 * mss));
}

/* Whether the window was reduced. */
static __always_inline bool rule_on_ack(struct rule *r, const volatile struct rule_params *p,
					  const struct tg_acked *acked)
{
	bool grows = once_on_ack(&r->once, acked->ack, acked->echo, p->regrowth);
	bool cuts = acked->echo && !acked->in_recovery && !r->once.is_open;

	if (!r->once.is_open)
		r->before_mark = 0;
	else if (r->before_mark && acked->echo)
		r->before_mark = r->w.window;
	/* The echo is handled before the ACK's own sample. */
	if (cuts)
		cut(r, p);
	count(r, acked->bytes, acked->echo);
	if (acked->bytes && is_after(acked->ack, r->a.end))
		end_sample(r, p, acked->sent);
	if (cuts) {
		once_reacted(&r->once, acked->sent, true);
		grows = p->regrowth == REGROWTH_CONTINUES;
	}
	if (acked->may_grow && grows)
		window_grow(&r->w, acked->bytes, p->abc, true);
	return cuts;
}

static __always_inline void rule_on_loss(struct rule *r, const volatile struct rule_params *p, u32 una,
					 u32 sent)
{
	u32 window = r->w.window;
	u32 half = window_half(&r->w, r->before_mark ? r->before_mark : window);

	once_reacted(&r->once, sent, false);
	window_cut(&r->w, smaller(half, window), half);
}

static __always_inline void rule_on_recovered(struct rule *r, const volatile struct rule_params *p,
						u32 ack)
{
	once_clear(&r->once);
	r->before_mark = 0;
	end_sample(r, p, ack);
}

static __always_inline void rule_on_timeout(struct rule *r, const volatile struct rule_params *p,
					      u32 flight, u32 sent, bool repeated)
{
	window_collapse(&r->w, window_half(&r->w, flight), repeated);
	once_reacted(&r->once, sent, false);
	r->before_mark = 0;
	end_sample(r, p, sent);
}

static __always_inline void rule_on_idle(struct rule *r, const volatile struct rule_params *p,
					   u32 initial, u32 next)
{
	window_idle(&r->w, initial);
	alpha_reset(&r->a, p->initial_alpha, next);
}

static __always_inline u32 rule_alpha(const struct rule *r)
{
	return r->a.alpha;
}

#endif
