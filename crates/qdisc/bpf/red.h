/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The law of RED: crates/dataplane/src/mark/red, without its moving average. Marks a length above a
 * threshold, or with a rising probability between two.
 */
#ifndef TIDEGATE_RED_H
#define TIDEGATE_RED_H

#include "arith.h"

/* The probability on the line: lengths have 32 bits, so that no product overflows. */
static __always_inline u64 red_chance(const volatile struct tg_ramp *ramp, u64 length)
{
	u64 range = ramp->high - ramp->low;

	return range ? ramp->full * (length - ramp->low) / range : 0;
}

/* p / (1 - c*p) with c the packets since the last mark, compared without a division. */
static __always_inline bool red_by_packets(u64 *count, u64 chance)
{
	struct tg_wide counted = wide_product(*count, chance);
	u64 rest = counted.high ? 0 : minus(TG_CERTAIN, counted.low);

	*count = plus(*count, 1);
	return wide_less(wide_product(tg_draw(), rest), wide_product(chance, TG_CERTAIN));
}

/* With b bytes counted, p / (1 - b*p/mean) = p*mean / (mean - b*p), scaled by the packet's size. */
static __always_inline bool red_by_bytes(u64 *count, u64 chance, u64 mean, u32 len)
{
	struct tg_wide counted;
	u64 rest;

	if (!chance) {
		*count = 0;
		return false;
	}
	*count = plus(*count, len);
	counted = wide_product(*count, chance);
	rest = counted.high ? 0 : minus(mean * TG_CERTAIN, counted.low);
	if (chance * mean >= rest)
		return true;
	return wide_less(wide_product(tg_draw(), rest), wide_product(chance * len, TG_CERTAIN));
}

/* `count` belongs to the length that is compared: a queue's, the port's or the pool's. */
static __always_inline bool red_marks(const volatile struct tg_law *law, const volatile struct tg_ramp *ramp,
				      u64 *count, u32 bytes, u32 packets, u32 len)
{
	u64 all = (u64)packets + (law->inclusive ? 1 : 0);
	u64 length = law->in_packets ? all : (u64)bytes + (law->inclusive ? len : 0);
	u64 correction = law->correction;
	bool hit;

	if (law->spares_short && all <= 1)
		return false;
	if (length < ramp->low && length < ramp->high + law->beyond) {
		*count = 0;
		return false;
	}
	if (length >= ramp->high + law->beyond)
		hit = true;
	else if (correction == TG_BY_BYTES)
		hit = red_by_bytes(count, red_chance(ramp, length), law->mean, len);
	else if (correction == TG_BY_PACKETS)
		hit = red_by_packets(count, red_chance(ramp, length));
	else
		hit = tg_draw() < red_chance(ramp, length);
	if (hit)
		*count = correction == TG_BY_PACKETS;
	return hit;
}

#endif
