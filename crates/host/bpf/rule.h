/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The rules of crates/transport/src/cc in C: plain numbers in, plain numbers out. They touch no
 * socket, so that a test can run the same code on any trace and compare it with its twin, step by
 * step. Windows are in bytes, α in units of 1/1024.
 */
#ifndef TIDEGATE_RULE_H
#define TIDEGATE_RULE_H

#define ALPHA_ONE 1024u
#define ALPHA_BITS 10u
#define MAX_WINDOW (1u << 30)
#define NO_THRESHOLD 0xffffffffu

/* Growth of the window while the data of a reduction is being acknowledged. */
enum tg_regrowth {
	REGROWTH_CONTINUES = 0,
	REGROWTH_EXCEPT_FIRST_ECHO = 1,
	REGROWTH_FROZEN = 2,
};

/* Facts of an ACK. */
struct tg_acked {
	u32 ack; /* everything before has arrived */
	u32 sent; /* one past the last byte sent */
	u32 bytes; /* acknowledged in order for the first time */
	bool echo; /* it carried ECE */
	bool in_recovery; /* fast recovery is going on, after this ACK */
	bool may_grow; /* it advanced, outside recovery, and the window was in use */
};

static __always_inline bool is_after(u32 a, u32 b)
{
	return (s32)(a - b) > 0;
}

static __always_inline u32 smaller(u32 a, u32 b)
{
	return a < b ? a : b;
}

static __always_inline u32 larger(u32 a, u32 b)
{
	return a > b ? a : b;
}

/* --- The window: RFC 5681, section 3.1, in bytes (RFC 3465). --- */

struct tg_window {
	u32 mss;
	u32 window;
	u32 ssthresh;
	u32 credit; /* bytes acknowledged in avoidance towards the next segment */
	u32 limit; /* bytes for which an ACK counts at most in slow start */
};

static __always_inline void window_begin(struct tg_window *w, u32 mss, u32 initial, u32 abc)
{
	w->mss = mss;
	w->window = smaller(initial, MAX_WINDOW);
	w->ssthresh = NO_THRESHOLD;
	w->credit = 0;
	w->limit = mss * abc;
}

static __always_inline void window_cut(struct tg_window *w, u32 window, u32 ssthresh)
{
	w->window = smaller(window, MAX_WINDOW);
	w->ssthresh = ssthresh;
	w->credit = 0;
}

/* `abc`: segments for which an ACK counts at most. `up_to`: slow start at the threshold itself. */
static __always_inline void window_grow(struct tg_window *w, u32 bytes, u32 abc, bool up_to)
{
	bool slow_start = up_to ? w->window <= w->ssthresh : w->window < w->ssthresh;

	if (slow_start) {
		w->window = smaller(w->window + smaller(bytes, w->limit), MAX_WINDOW);
		return;
	}
	w->limit = w->mss * abc;
	w->credit += bytes;
	if (w->credit >= w->window) {
		/* At most one segment, for any ACK. */
		w->credit = smaller(w->credit - w->window, w->window);
		w->window = smaller(w->window + w->mss, MAX_WINDOW);
	}
}

static __always_inline u32 window_half(const struct tg_window *w, u32 bytes)
{
	return larger(bytes / 2, 2 * w->mss);
}

static __always_inline void window_collapse(struct tg_window *w, u32 ssthresh, bool repeated)
{
	window_cut(w, w->mss, repeated ? w->ssthresh : ssthresh);
	w->limit = w->mss;
}

static __always_inline void window_idle(struct tg_window *w, u32 initial)
{
	w->window = smaller(w->window, initial);
	w->credit = 0;
}

/* --- At most one reaction per window of data. --- */

struct tg_once {
	u32 end; /* one past the last byte sent before the reaction */
	u8 is_open; /* no ACK has passed the end yet */
	u8 frozen;
	u8 echoing; /* the last ACK carried ECE */
	u8 unused;
};

/* Whether the window may grow on this ACK, if there is no reduction. */
static __always_inline bool once_on_ack(struct tg_once *once, u32 ack, bool echo, u32 regrowth)
{
	bool first_echo = echo && !once->echoing;

	once->echoing = echo;
	if (!once->is_open)
		return !first_echo || regrowth != REGROWTH_EXCEPT_FIRST_ECHO;
	/* Strictly after: the segment with CWR has arrived. */
	if (is_after(ack, once->end)) {
		once->is_open = 0;
		once->frozen = 0;
	}
	if (regrowth == REGROWTH_EXCEPT_FIRST_ECHO)
		return !first_echo;
	if (regrowth == REGROWTH_FROZEN)
		return !once->frozen;
	return true;
}

static __always_inline void once_reacted(struct tg_once *once, u32 sent, bool freezes)
{
	once->end = sent;
	once->is_open = 1;
	once->frozen = freezes;
}

static __always_inline void once_clear(struct tg_once *once)
{
	once->is_open = 0;
	once->frozen = 0;
}

/* --- The estimate of the marked fraction: α ← (1 − g)·α + g·F, with g = 1/2^shift. --- */

struct tg_alpha {
	u32 alpha;
	u32 total; /* counted in this window of data: bytes or packets, as the caller counts */
	u32 marked;
	u32 end; /* the window of data is over once an ACK is at or after this */
	u32 echoing; /* the last ACK carried ECE */
};

static __always_inline void alpha_begin_window(struct tg_alpha *a, u32 sent)
{
	a->total = 0;
	a->marked = 0;
	a->end = sent;
}

static __always_inline void alpha_reset(struct tg_alpha *a, u32 initial, u32 next)
{
	a->alpha = initial;
	a->echoing = 0;
	alpha_begin_window(a, next);
}

/* `to_zero`: a small α falls to zero; without it α stops at 2^shift − 1. */
static __always_inline void alpha_update(struct tg_alpha *a, u32 shift, bool to_zero)
{
	u32 decay = a->alpha >> shift;
	u64 sample;

	if (decay == 0 && to_zero)
		decay = a->alpha;
	sample = ((u64)a->marked << (ALPHA_BITS - shift)) / (a->total ? a->total : 1);
	a->alpha = smaller(a->alpha - decay + (u32)sample, ALPHA_ONE);
}

/* α/2 of `amount`, rounded down. */
static __always_inline u32 alpha_half_of(const struct tg_alpha *a, u32 amount)
{
	return (u32)(((u64)amount * a->alpha) >> (ALPHA_BITS + 1));
}

#endif
