/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* TCN: crates/dataplane/src/mark/tcn.rs. Marks by the sojourn time of the departing packet. */
#ifndef TIDEGATE_TCN_H
#define TIDEGATE_TCN_H

#include "arith.h"

static __always_inline bool tcn_marks(u64 now, u64 sojourn)
{
	u64 level;

	if (!setup.tcn.special)
		return sojourn > setup.tcn.threshold;
	if (!sojourn)
		return false;
	if (setup.tcn.stamp)
		/* The chip keeps 16 bits of each timestamp. */
		level = (now / setup.tcn.tick - (now - sojourn) / setup.tcn.tick) & 0xffff;
	else
		level = sojourn / setup.tcn.tick;
	return ramp_marks(&setup.tcn.ramp, level);
}

#endif
