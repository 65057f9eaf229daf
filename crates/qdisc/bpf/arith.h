/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Products of 128 bits, which BPF lacks, logarithms, and the probability of RED. */
#ifndef TIDEGATE_ARITH_H
#define TIDEGATE_ARITH_H

#include "setup.h"

/* A certain mark, in 2^-32. */
#define TG_CERTAIN (1ull << 32)

/* A uniform number of 32 bits; the program that includes this file supplies it. */
static __always_inline u32 tg_draw(void);

struct tg_wide {
	u64 high;
	u64 low;
};

static __always_inline struct tg_wide wide_product(u64 a, u64 b)
{
	u64 a_low = (u32)a, a_high = a >> 32, b_low = (u32)b, b_high = b >> 32;
	u64 low = a_low * b_low, left = a_high * b_low, right = a_low * b_high;
	u64 middle = (low >> 32) + (u32)left + (u32)right;
	struct tg_wide wide;

	wide.low = (middle << 32) | (u32)low;
	wide.high = a_high * b_high + (left >> 32) + (right >> 32) + (middle >> 32);
	return wide;
}

static __always_inline bool wide_less(struct tg_wide a, struct tg_wide b)
{
	return a.high < b.high || (a.high == b.high && a.low < b.low);
}

/* Number of the highest bit that is set. */
static __always_inline u32 magnitude(u64 value)
{
	u32 bits = 0;

	if (value >> 32) { bits += 32; value >>= 32; }
	if (value >> 16) { bits += 16; value >>= 16; }
	if (value >> 8) { bits += 8; value >>= 8; }
	if (value >> 4) { bits += 4; value >>= 4; }
	if (value >> 2) { bits += 2; value >>= 2; }
	return bits + (value >> 1 ? 1 : 0);
}

static __always_inline u64 plus(u64 a, u64 b)
{
	return a + b < a ? ~0ull : a + b;
}

static __always_inline u64 minus(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

/*
 * Whether a packet at `value` is marked, independently of others. A draw r is below the probability
 * floor(full * above / range) if (r + 1) * range <= full * above, which needs no division.
 */
static __always_inline bool ramp_marks(const volatile struct tg_ramp *ramp, u64 value)
{
	u64 low = ramp->low, high = ramp->high, draw;

	if (value < low)
		return false;
	if (value > high)
		return true;
	draw = tg_draw();
	/* Equal thresholds are a step. */
	if (low == high)
		return false;
	return !wide_less(wide_product(ramp->full, value - low), wide_product(draw + 1, high - low));
}

#endif
