/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The settings of a port, fixed while it is loaded. src/setup.rs writes the same numbers in the
 * same order, each in 64 bits, and derives every threshold: nothing here divides a rate.
 */
#ifndef TIDEGATE_SETUP_H
#define TIDEGATE_SETUP_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

/* Queues of a port, a power of two: an index is masked instead of compared. */
#define TG_QUEUES 16
#define TG_LAST (TG_QUEUES - 1)

#define TG_CLASSES 64

enum tg_scheme {
	TG_NONE,
	TG_BCC,
	TG_CODEL,
	TG_DIFF_ECN,
	TG_ECN_SHARP,
	TG_RED,
	TG_TCN,
};

/* Reasons for a mark: one more than the number of the rule in crates/dataplane/src/stats.rs. */
enum tg_rule {
	TG_PASS,
	TG_QUEUE_LENGTH,
	TG_PORT_LENGTH,
	TG_POOL_LENGTH,
	TG_SOJOURN,
	TG_PERSISTENT,
	TG_FLOW_SHARE,
	TG_RULES,
};

/* Certain mark below `low`: none; above `high`: always; between them a line from zero to `full`. */
struct tg_ramp {
	u64 low;
	u64 high;
	u64 full; /* probability at `high` in 2^-32 */
};

struct tg_tcn {
	u64 threshold; /* picoseconds */
	u64 special; /* anything but a step on an exact clock: the next fields decide */
	u64 tick; /* picoseconds of the clock's unit */
	u64 stamp; /* 2-byte timestamps, which wrap */
	struct tg_ramp ramp; /* ticks */
};

struct tg_codel {
	u64 target; /* ticks of 1024 ns */
	u64 interval; /* ticks */
	u64 backlog; /* smallest number of bytes that is not exempt */
	u64 from_now; /* the next mark counts from the last one, not from the time it was due */
	u64 waits; /* a packet that cannot be marked leaves the schedule as it is */
};

enum tg_measure { TG_PICOSECONDS, TG_TICKS, TG_BYTES };

struct tg_ecn_sharp {
	u64 measure; /* unit of the targets */
	struct tg_ramp instantaneous; /* `high` is the target of a step */
	u64 has_rise;
	u64 target; /* of the persistent part */
	u64 interval; /* picoseconds; ticks for the chip */
	u64 tofino;
	u64 shift; /* the chip's division */
	u64 table[16];
};

enum tg_correction { TG_ALONE, TG_BY_BYTES, TG_BY_PACKETS };

struct tg_law {
	u64 at_dequeue;
	u64 inclusive;
	u64 beyond; /* distance from the upper threshold to the smallest marked length: 1 or 0 */
	u64 in_packets;
	u64 correction;
	u64 mean; /* bytes of a mean packet, for TG_BY_BYTES */
	u64 spares_short; /* a length of one packet or none passes */
};

struct tg_red {
	struct tg_law law;
	u64 per_port;
	struct tg_ramp ramps[TG_QUEUES];
};

struct tg_bcc {
	struct tg_law port_law;
	struct tg_law pool_law;
	struct tg_ramp port;
	struct tg_ramp pool;
};

struct tg_diff_ecn {
	u64 priority_queue;
	u64 pass_limit; /* bytes */
	u64 counts_arrival; /* towards the limit */
	u64 inclusive;
	u64 idle_release; /* picoseconds, or zero: an entry ends with its queue */
	u64 period; /* picoseconds, of the flow count */
	u64 map_mask;
	u64 count_mask;
	u64 thresholds[TG_QUEUES + 1]; /* bytes, by number of flows */
};

struct tg_setup {
	u64 scheme;
	struct tg_tcn tcn;
	struct tg_codel codel;
	struct tg_ecn_sharp ecn_sharp;
	struct tg_red red;
	struct tg_bcc bcc;
	struct tg_diff_ecn diff_ecn;
	/* Scheduler. */
	u64 queues;
	u64 strict; /* the first queues are served strictly, the others in turn */
	u64 quanta[TG_QUEUES];
	/* Wire and classes. */
	u64 rate; /* bits per second */
	u64 byte_time; /* whole picoseconds of a byte */
	u64 byte_rest; /* and the rest, in units of 1/rate */
	u64 catch_up; /* picoseconds of lateness that are made up for */
	u64 padded; /* least bytes of a frame */
	u64 framing; /* bytes added to a frame, modulo 2^64 */
	u64 drops_not_capable; /* packets that should be marked and cannot be; otherwise they pass */
	u64 by_priority; /* classes by skb->priority, otherwise by DSCP */
	u64 classes[TG_CLASSES]; /* queues */
	/* Buffer. */
	u64 limit; /* of the port: bytes, or packets */
	u64 limits_packets;
	u64 pool_size; /* zero: no pool */
	u64 reserve;
	u64 alpha_over[TG_QUEUES];
	u64 alpha_under[TG_QUEUES];
	u64 before_packet; /* the compared length leaves out the packet */
	u64 port_share; /* the compared length is the port's */
};

const volatile struct tg_setup setup SEC(".rodata.setup");

#endif
