/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The schedulers of crates/dataplane/src/sched that a port can have, as one: the first queues are
 * served strictly, the lowest number first, and the others by deficit weighted round robin. A
 * single queue has no turns.
 */
#ifndef TIDEGATE_SCHEDULER_H
#define TIDEGATE_SCHEDULER_H

#include "setup.h"

u32 heads[TG_QUEUES]; /* bytes of each queue's first packet; zero: empty */
u32 deficits[TG_QUEUES];

/* Queues of the round that hold packets, in order from `front`. */
struct {
	u32 front;
	u32 active;
	u32 order[TG_QUEUES];
} ring;

static __always_inline void ring_push(u32 queue)
{
	ring.order[(ring.front + ring.active) & TG_LAST] = queue;
	ring.active++;
}

static __always_inline u32 ring_pop(void)
{
	u32 queue = ring.order[ring.front & TG_LAST];

	ring.front++;
	ring.active--;
	return queue & TG_LAST;
}

/* A queue that was empty has a packet of `len` bytes. */
static __always_inline void sched_on_active(u32 queue, u32 len)
{
	queue &= TG_LAST;
	heads[queue] = len;
	if (queue < setup.strict || setup.queues == 1)
		return;
	deficits[queue] = (u32)setup.quanta[queue];
	ring_push(queue);
}

/*
 * Grants the quanta of all rounds but the last before a queue can send. This and the next are
 * global functions, which the kernel verifies alone, not again for every state of a caller.
 */
__noinline int sched_skip_rounds(void)
{
	u32 place, queue, missing, rounds, fewest = 0xffffffff;
	u64 sum;

	for (place = 0; place < TG_QUEUES; place++) {
		if (place >= ring.active)
			break;
		queue = ring.order[(ring.front + place) & TG_LAST] & TG_LAST;
		missing = heads[queue] > deficits[queue] ? heads[queue] - deficits[queue] : 0;
		rounds = (u32)((missing + setup.quanta[queue] - 1) / setup.quanta[queue]);
		if (rounds < fewest)
			fewest = rounds;
	}
	if (fewest < 2)
		return 0;
	for (place = 0; place < TG_QUEUES; place++) {
		if (place >= ring.active)
			break;
		queue = ring.order[(ring.front + place) & TG_LAST] & TG_LAST;
		sum = deficits[queue] + setup.quanta[queue] * (fewest - 1);
		deficits[queue] = sum >> 32 ? 0xffffffff : (u32)sum;
	}
	return 0;
}

/* The queue to serve, which is at the front of the round if it is in it. A packet must wait. */
__noinline u32 sched_pick(void)
{
	u32 queue, passed = 0, step;
	u64 sum;

	if (setup.queues == 1)
		return 0;
	for (queue = 0; queue < TG_QUEUES; queue++)
		if (queue < setup.strict && heads[queue])
			return queue;
	for (step = 0; step < 2 * TG_QUEUES + 1; step++) {
		queue = ring.order[ring.front & TG_LAST] & TG_LAST;
		if (deficits[queue] >= heads[queue]) {
			deficits[queue] -= heads[queue];
			return queue;
		}
		sum = deficits[queue] + setup.quanta[queue];
		deficits[queue] = sum >> 32 ? 0xffffffff : (u32)sum;
		ring_push(ring_pop());
		if (++passed == ring.active)
			sched_skip_rounds();
	}
	return queue;
}

/* The picked packet has left; `next` is the length of the one behind it, or zero. */
static __always_inline void sched_on_departed(u32 queue, u32 next)
{
	queue &= TG_LAST;
	heads[queue] = next;
	if (!next && queue >= setup.strict && setup.queues > 1)
		ring_pop();
}

#endif
