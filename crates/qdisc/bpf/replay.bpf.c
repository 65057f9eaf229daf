/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Calls the schemes and the scheduler with given numbers: one call for each run of the program. The
 * tests compare the answers with the library's. It needs no qdisc.
 */
#include "scheme.h"
#include "scheduler.h"

char _license[] SEC("license") = "Dual MIT/GPL";

u32 draw; /* a random number for this call */
u32 used; /* how often it was taken */

static __always_inline u32 tg_draw(void)
{
	used++;
	return draw;
}

enum tg_call {
	CALL_ASSIGN,
	CALL_ENQUEUE,
	CALL_DEQUEUE,
	CALL_ACTIVE, /* of the scheduler: `len` bytes are first in `queue` */
	CALL_PICK,
	CALL_DEPARTED,
};

/* src/kernel/replay.rs writes the same. */
struct tg_step {
	u32 call;
	u32 answer;
	u32 draw;
	u32 used;
	struct tg_cx cx;
	u32 lengths[TG_QUEUES];
};

SEC("syscall")
int replay(struct tg_step *step)
{
	struct tg_cx cx = step->cx;
	u32 answer = 0;

	draw = step->draw;
	used = 0;
	switch (step->call) {
	case CALL_ASSIGN:
		__builtin_memcpy(lengths, step->lengths, sizeof(lengths));
		answer = scheme_assign(&cx, cx.queue);
		break;
	case CALL_ENQUEUE:
		answer = scheme_on_enqueue(&cx);
		scheme_on_queued(&cx);
		break;
	case CALL_DEQUEUE:
		answer = scheme_on_dequeue(&cx);
		break;
	case CALL_ACTIVE:
		sched_on_active(cx.queue, cx.len);
		break;
	case CALL_PICK:
		answer = sched_pick();
		break;
	case CALL_DEPARTED:
		sched_on_departed(cx.queue, cx.len);
		break;
	}
	/* One store for all: the verifier allows an instruction one kind of pointer. */
	barrier();
	step->answer = answer;
	step->used = used;
	return 0;
}
