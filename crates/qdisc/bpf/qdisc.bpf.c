/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A qdisc of the kernel (Linux 6.16 and later, CONFIG_NET_SCH_BPF), and the program that sets CE.
 *
 * A BPF qdisc may not write to packets. It is therefore the root of an ifb device to which the
 * port's packets are redirected, and leaves its decision in the packet's time stamp, which the
 * kernel does not use there. The ifb device hands the packet back to the port, where a filter at
 * egress sets CE. The kernel skips the actions of filters then, among them the redirection, but not
 * BPF filters.
 */
#include "port.h"

char _license[] SEC("license") = "Dual MIT/GPL";

static __always_inline u32 tg_draw(void)
{
	return bpf_get_prandom_u32();
}

u64 owner; /* the qdisc that uses this port */
u32 device; /* number of its device */

static __always_inline u64 identity(struct Qdisc *sch)
{
	return (u64)sch->dev_queue->dev->ifindex << 32 | sch->handle;
}

/*
 * A port that has run for months begins again when it is empty: its clock counts 2^64 picoseconds.
 */
static __noinline void begin(void)
{
	u32 queue;

	port.started = bpf_ktime_get_ns();
	port.due = 0;
	for (queue = 0; queue < TG_QUEUES; queue++)
		__builtin_memset(&states[queue], 0, sizeof(states[queue]));
	__builtin_memset(&chip_clock, 0, sizeof(chip_clock));
	__builtin_memset(&diff, 0, sizeof(diff));
}

SEC("struct_ops/tg_enqueue")
int BPF_PROG(tg_enqueue, struct sk_buff *skb, struct Qdisc *sch, struct tg_to_free *to_free)
{
	u32 frame = ((struct qdisc_skb_cb *)skb->cb)->pkt_len, len = port_length(skb, frame);
	u32 flow = setup.scheme == TG_DIFF_ECN ? bpf_skb_get_hash(skb) : 0;
	u8 field = port_ds_field(skb), ecn = field & TG_CE, on_reserve = 0;
	u32 queue = port_class(skb, field), key, reason, rule;
	struct tg_packet *packet;
	struct tg_list *list;
	struct tg_cx cx = {};
	u64 now;

	count_amount(&counters.received, frame);
	if (!port.packets && port_clock() >> 63)
		begin();
	now = port_clock();
	port_facts(&cx, now, queue, len, flow, ecn);
	queue = scheme_assign(&cx, queue) & TG_LAST;
	port_facts(&cx, now, queue, len, flow, ecn);

	reason = port_admit(queue, len, &on_reserve);
	if (reason != TG_DROPS)
		goto drop;
	rule = scheme_on_enqueue(&cx);
	if (rule && ecn == TG_NOT_ECT && setup.drops_not_capable) {
		reason = TG_NOT_CAPABLE;
		goto release;
	}
	reason = TG_NO_MEMORY;
	/* A copy: the compiler would read `queue` back from memory, without its limits. */
	key = queue;
	list = bpf_map_lookup_elem(&lists, &key);
	if (!list)
		goto release;
	packet = bpf_obj_new(struct tg_packet);
	if (!packet)
		goto release;
	scheme_on_queued(&cx);
	packet->arrival = now;
	packet->len = len;
	packet->frame = frame;
	packet->flow = flow;
	packet->ecn = ecn;
	packet->rule = ecn == TG_NOT_ECT || ecn == TG_CE ? TG_PASS : rule;
	packet->on_reserve = on_reserve;
	skb = bpf_kptr_xchg(&packet->skb, skb);
	if (skb)
		bpf_qdisc_skb_drop(skb, to_free); /* a new packet is empty */
	bpf_spin_lock(&list->lock);
	bpf_list_push_back(&list->packets, &packet->node);
	bpf_spin_unlock(&list->lock);

	if (!port.packets)
		port_on_first(now);
	if (!port.queued[queue])
		sched_on_active(queue, len);
	port.packets++;
	port.bytes += len;
	port.queued[queue]++;
	lengths[queue] += len;
	count_amount(&counters.queues[queue].enqueued, len);
	sch->q.qlen++;
	sch->qstats.backlog += frame;
	return NET_XMIT_SUCCESS;
release:
	port_release(len, on_reserve);
drop:
	if (reason < TG_DROPS)
		counters.drops[reason]++;
	sch->qstats.drops++;
	bpf_qdisc_skb_drop(skb, to_free);
	return NET_XMIT_DROP;
}

/* Takes the first packet of a queue. `next` is the length of the one behind it, or zero. */
static __always_inline struct tg_packet *take(u32 queue, u32 *next)
{
	struct tg_list *list = bpf_map_lookup_elem(&lists, &queue);
	struct bpf_list_node *node, *first;

	if (!list)
		return NULL;
	bpf_spin_lock(&list->lock);
	node = bpf_list_pop_front(&list->packets);
	first = bpf_list_front(&list->packets);
	if (first)
		*next = container_of(first, struct tg_packet, node)->len;
	bpf_spin_unlock(&list->lock);
	return node ? container_of(node, struct tg_packet, node) : NULL;
}

SEC("struct_ops/tg_dequeue")
struct sk_buff *BPF_PROG(tg_dequeue, struct Qdisc *sch)
{
	u32 queue, next = 0, len, frame, rule;
	struct tg_packet *packet;
	struct sk_buff *skb = NULL;
	struct tg_cx cx = {};
	u8 ecn, on_arrival;
	u64 now;

	if (!port.packets)
		return NULL;
	now = port_clock();
	if (now < port.due) {
		bpf_qdisc_watchdog_schedule(sch, port.started + (port.due + 999) / 1000, 0);
		return NULL;
	}
	queue = sched_pick() & TG_LAST;
	packet = take(queue, &next);
	if (!packet)
		return NULL;
	skb = bpf_kptr_xchg(&packet->skb, skb);
	len = packet->len;
	frame = packet->frame;
	ecn = packet->ecn;
	on_arrival = packet->rule;
	cx.flow = packet->flow;
	cx.sojourn = minus(now, packet->arrival);
	port_release(len, packet->on_reserve);
	bpf_obj_drop(packet);

	sched_on_departed(queue, next);
	port.packets--;
	port.bytes -= len;
	port.queued[queue]--;
	lengths[queue] -= len;
	sch->q.qlen--;
	sch->qstats.backlog -= frame;
	count_amount(&counters.queues[queue].dequeued, len);
	count_sojourn(queue, cx.sojourn / 1000);
	port_facts(&cx, now, queue, len, cx.flow, on_arrival ? TG_CE : ecn);
	rule = scheme_on_dequeue(&cx);
	if (!skb)
		return NULL;
	if (rule && ecn == TG_NOT_ECT && setup.drops_not_capable) {
		counters.drops[TG_NOT_CAPABLE]++;
		sch->qstats.drops++;
		bpf_kfree_skb(skb);
		/* The wire is free for the next packet. */
		bpf_qdisc_watchdog_schedule(sch, bpf_ktime_get_ns(), 0);
		return NULL;
	}
	port_pace(now, len);
	if (on_arrival)
		rule = on_arrival;
	else if (ecn == TG_NOT_ECT || ecn == TG_CE)
		rule = TG_PASS;
	if (rule && rule < TG_RULES)
		counters.marks[rule]++;
	count_amount(&counters.sent, frame);
	skb->tstamp = rule;
	bpf_qdisc_bstats_update(sch, skb);
	return skb;
}

SEC("struct_ops/tg_init")
int BPF_PROG(tg_init, struct Qdisc *sch, struct nlattr *options, struct netlink_ext_ack *extack)
{
	/* Its queues are one port's. */
	if (owner)
		return -16; /* EBUSY */
	owner = identity(sch);
	device = sch->dev_queue->dev->ifindex;
	sch->limit = 0xffffffff;
	begin();
	if (!counters.started)
		counters.started = port.started;
	return 0;
}

SEC("struct_ops/tg_reset")
void BPF_PROG(tg_reset, struct Qdisc *sch)
{
	struct bpf_iter_num iterator;
	u32 queue, next;

	if (owner != identity(sch))
		return;
	for (queue = 0; queue < TG_QUEUES; queue++) {
		bpf_iter_num_new(&iterator, 0, 1 << 23);
		while (bpf_iter_num_next(&iterator)) {
			struct tg_packet *packet = take(queue, &next);
			struct sk_buff *skb = NULL;

			if (!packet)
				break;
			skb = bpf_kptr_xchg(&packet->skb, skb);
			if (skb)
				bpf_kfree_skb(skb);
			port_release(packet->len, packet->on_reserve);
			counters.drops[TG_LINK_DOWN]++;
			bpf_obj_drop(packet);
		}
		bpf_iter_num_destroy(&iterator);
		heads[queue] = 0;
		port.queued[queue] = 0;
		lengths[queue] = 0;
	}
	ring.active = 0;
	port.bytes = 0;
	port.packets = 0;
	begin();
	sch->q.qlen = 0;
	sch->qstats.backlog = 0;
}

SEC("struct_ops/tg_destroy")
void BPF_PROG(tg_destroy, struct Qdisc *sch)
{
	/* The kernel also destroys a qdisc whose `init` has failed. */
	if (owner == identity(sch))
		owner = 0;
}

SEC(".struct_ops.link")
struct Qdisc_ops tidegate = {
	.enqueue = (void *)tg_enqueue,
	.dequeue = (void *)tg_dequeue,
	.init = (void *)tg_init,
	.reset = (void *)tg_reset,
	.destroy = (void *)tg_destroy,
	.id = "tidegate-port", /* the loader sets the device's name */
};

/* Sees every packet of the port twice: on its way to the ifb device, and when it comes back. */
SEC("tc")
int tg_mark(struct __sk_buff *skb)
{
	u64 rule = skb->tstamp;

	/* To the kernel, it comes from the ifb device then. */
	if (skb->ingress_ifindex != device || !rule || rule >= TG_RULES)
		return TC_ACT_UNSPEC;
	skb->tstamp = 0;
	if (!bpf_skb_ecn_set_ce(skb)) {
		/* The header is shared with another copy of the packet. */
		bpf_skb_pull_data(skb, 0);
		if (!bpf_skb_ecn_set_ce(skb)) {
			__sync_fetch_and_add(&counters.unset, 1);
			return TC_ACT_UNSPEC;
		}
	}
	__sync_fetch_and_add(&counters.set, 1);
	return TC_ACT_UNSPEC;
}
