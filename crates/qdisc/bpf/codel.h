/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * CoDel in marking mode: crates/dataplane/src/mark/codel. Marks at a rising rate while every packet
 * of an interval has waited for the target or longer.
 */
#ifndef TIDEGATE_CODEL_H
#define TIDEGATE_CODEL_H

#include "arith.h"

#define TG_TICK 1024000ull /* picoseconds */

enum tg_codel_phase { CODEL_BELOW, CODEL_ABOVE, CODEL_MARKING };

struct tg_codel_state {
	u16 phase;
	u16 inverse_sqrt; /* 1/sqrt(count) in 2^-16 */
	u32 count; /* marks in this marking phase, or in the last one */
	u32 first_count; /* its value when the phase began */
	u32 above_until; /* ticks */
	u32 mark_next; /* ticks */
};

static __always_inline s32 codel_since(u32 now, u32 then)
{
	return (s32)(now - then);
}

/* x <- x * (3 - count * x^2) / 2 */
static __always_inline void codel_newton_step(struct tg_codel_state *state)
{
	u64 inverse = (u64)state->inverse_sqrt << 16;
	u64 square = (inverse * inverse) >> 32;
	u64 correction = minus(3ull << 32, state->count * square);

	/* Two bits of the correction are given up, so that the product fits. */
	state->inverse_sqrt = (u16)((((correction >> 2) * inverse) >> 31) >> 16);
}

static __always_inline void codel_schedule(struct tg_codel_state *state, u32 anchor)
{
	u64 distance = (setup.codel.interval * ((u64)state->inverse_sqrt << 16)) >> 32;

	state->mark_next = anchor + (u32)distance;
}

static __always_inline void codel_start_marking(struct tg_codel_state *state, u32 now)
{
	u32 marks = state->count - state->first_count;
	s64 horizon = 16 * (s64)setup.codel.interval;

	state->phase = CODEL_MARKING;
	/* The rate of a phase that ended recently is a good start. */
	if (marks > 1 && codel_since(now, state->mark_next) < horizon) {
		state->count = marks;
		codel_newton_step(state);
	} else {
		state->count = 1;
		state->inverse_sqrt = 0xffff;
	}
	state->first_count = state->count;
	codel_schedule(state, now);
}

static __always_inline bool codel_marks(struct tg_codel_state *state, u64 now, u64 sojourn, u32 backlog,
					bool capable)
{
	u64 departure = now / TG_TICK, delay = departure - minus(now, sojourn) / TG_TICK;
	u32 tick = (u32)departure;

	if (delay < setup.codel.target || backlog < setup.codel.backlog) {
		state->phase = CODEL_BELOW;
		return false;
	}
	if (state->phase == CODEL_BELOW) {
		state->phase = CODEL_ABOVE;
		state->above_until = tick + (u32)setup.codel.interval;
		return false;
	}
	if (state->phase == CODEL_ABOVE) {
		if (codel_since(tick, state->above_until) <= 0)
			return false;
		codel_start_marking(state, tick);
		return true;
	}
	if (codel_since(tick, state->mark_next) < 0)
		return false;
	if (!setup.codel.waits || capable) {
		state->count += state->count != 0xffffffff;
		codel_newton_step(state);
		codel_schedule(state, setup.codel.from_now ? tick : state->mark_next);
	}
	return true;
}

#endif
