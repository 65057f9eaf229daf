/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * ECN#: crates/dataplane/src/mark/ecn_sharp. Marks above a high target at once, and now and then
 * while the signal has stayed at or above a low one for an interval: Algorithm 1 of the paper, or
 * the registers and the division of the Tofino prototype.
 */
#ifndef TIDEGATE_ECN_SHARP_H
#define TIDEGATE_ECN_SHARP_H

#include "codel.h"

enum tg_sharp_phase { SHARP_BELOW, SHARP_ABOVE, SHARP_MARKING };

struct tg_sharp_state {
	u64 next; /* picoseconds: end of the interval, or the next mark */
	u32 phase;
	u32 count; /* marks since the queue became persistent */
	/* Registers of the chip. */
	u32 first_above; /* ticks, or zero: below */
	u32 marking;
	u32 chip_count;
	u32 chip_next;
};

/* The chip's clock, one for all queues. */
struct tg_sharp_clock {
	u32 low;
	u32 high;
};

/* Algorithm 1. */
static __always_inline bool sharp_persistent(struct tg_sharp_state *state, u64 now, bool below)
{
	if (below) {
		state->phase = SHARP_BELOW;
		return false;
	}
	if (state->phase == SHARP_BELOW) {
		state->phase = SHARP_ABOVE;
		state->next = plus(now, setup.ecn_sharp.interval);
		return false;
	}
	if (now <= state->next)
		return false;
	if (state->phase == SHARP_ABOVE) {
		state->phase = SHARP_MARKING;
		state->count = 1;
		state->next = plus(now, setup.ecn_sharp.interval);
	} else {
		state->count += state->count != 0xffffffff;
		state->next = plus(state->next, setup.ecn_sharp.interval / state->count);
	}
	return true;
}

/* Algorithm 2: ticks in 32 bits; the upper ten count how often the lower 22 were seen to wrap. */
static __always_inline u32 sharp_clock(struct tg_sharp_clock *clock, u64 now)
{
	u32 ticks = (u32)(now / 1000) >> 10;

	if (ticks < clock->low)
		clock->high = (clock->high + 1) & 1023;
	clock->low = ticks;
	return (clock->high << 22) + ticks;
}

/* Algorithm 3: the interval over a count, by a table of eight-bit numbers and a shift. */
static __always_inline u32 sharp_divide(u32 count)
{
	u32 bits = magnitude(count), index;
	u64 quotient;

	if (!count)
		return 0;
	index = bits > 3 ? count >> (bits - 3) : count << (3 - bits);
	/* The scale is biased by 6, so that both shifts are to one side. */
	quotient = (setup.ecn_sharp.table[index & 15] << setup.ecn_sharp.shift) >> (bits + 6);
	return quotient >> 32 ? 0xffffffff : (u32)quotient;
}

static __always_inline bool sharp_chip(struct tg_sharp_state *state, u32 now, bool below)
{
	u32 interval = (u32)setup.ecn_sharp.interval;
	bool detected = false, was_marking = state->marking;

	if (below)
		state->first_above = 0;
	else if (!state->first_above)
		state->first_above = now;
	else
		detected = now > state->first_above + interval;
	state->marking = detected;
	if (!detected)
		return false;
	if (!was_marking) {
		state->chip_count = 1;
		state->chip_next = now + interval;
		return true;
	}
	if (now <= state->chip_next)
		return false;
	state->chip_count += state->chip_count != 0xffffffff;
	state->chip_next += sharp_divide(state->chip_count);
	return true;
}

static __always_inline u32 sharp_decide(struct tg_sharp_state *state, struct tg_sharp_clock *clock, u64 now,
					u64 sojourn, u32 queue_bytes)
{
	u64 measure = setup.ecn_sharp.measure;
	u64 level = measure == TG_BYTES ? queue_bytes : measure == TG_TICKS ? sojourn / TG_TICK : sojourn;
	bool below = level < setup.ecn_sharp.target, at_once, persistent;

	if (setup.ecn_sharp.has_rise)
		at_once = ramp_marks(&setup.ecn_sharp.instantaneous, level);
	else
		at_once = level > setup.ecn_sharp.instantaneous.high;
	/* The persistent part sees every packet, also those that the other part marks. */
	if (setup.ecn_sharp.tofino)
		persistent = sharp_chip(state, sharp_clock(clock, now), below);
	else
		persistent = sharp_persistent(state, now, below);
	if (at_once)
		return measure == TG_BYTES ? TG_QUEUE_LENGTH : TG_SOJOURN;
	return persistent ? TG_PERSISTENT : TG_PASS;
}

#endif
