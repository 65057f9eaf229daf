/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Common parts of all algorithms: the kernel's names, counters, and samples for an observer. */
#ifndef TIDEGATE_H
#define TIDEGATE_H

#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* Constants of the kernel that its type information does not hold. */
#define TCP_CONG_NON_RESTRICTED 1
#define TCP_CONG_NEEDS_ECN 2
#define TCP_ECN_OK 1
#define TCP_ECN_QUEUE_CWR 2
#define TCP_ECN_DEMAND_CWR 4
#define ICSK_ACK_TIMER 2
#define ICSK_ACK_NOW 16
#define TCP_INFINITE_SSTHRESH 0x7fffffff
#define SOL_TCP 6
#define TCP_CONGESTION 13
#define AF_INET6 10

extern u32 tcp_reno_ssthresh(struct sock *sk) __ksym;
extern void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked) __ksym;
extern u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

/* Struct members that an algorithm must not exceed: icsk_ca_priv. */
#define CA_PRIVATE_BYTES 104

/* --- Numbers of all connections, for `status`. --- */

struct tg_counters {
	u64 sockets; /* connections that run the algorithm now */
	u64 plain; /* of `sockets`, the ones whose peer refused ECN */
	u64 opened; /* all since it was loaded */
	u64 refused; /* of `opened`, the ones whose peer refused ECN */
	u64 lost; /* samples that found the ring full */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct tg_counters);
} counters SEC(".maps");

/* Nanoseconds between two samples of a connection: 0 for none, 1 for every step of the rule. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} control SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} events SEC(".maps");

/* --- State of each connection beside its rule. --- */

struct tg_conn {
	u32 una; /* everything before was acknowledged at the last step */
	u32 last_ms; /* when the last sample left */
	u32 ece; /* ACKs with ECE */
	u32 ce; /* segments with CE */
	u32 cuts; /* reductions for marks */
	u32 cwnd; /* packets, as the rule has last left it */
	u8 echo; /* the ACK in hand carries ECE */
	u8 in_recovery; /* at the last step */
	u8 counted; /* 1: as a connection; 2: as one without ECN */
	u8 ce_state; /* the last segment's CE, at a receiver that echoes it */
};

enum tg_kind {
	STEP_SAMPLE = 0,
	STEP_BEGIN = 1,
	STEP_ACK = 2,
	STEP_LOSS = 3,
	STEP_RECOVERED = 4,
	STEP_TIMEOUT = 5,
	STEP_IDLE = 6,
	STEP_CUT = 7,
	STEP_END = 8,
	STEP_RESYNC = 9, /* the kernel had changed the window; the rule goes on from there */
};

#define FLAG_ECHO 1
#define FLAG_MAY_GROW 2
#define FLAG_REDUCED 4
#define FLAG_REPEATED 8
#define FLAG_IN_RECOVERY 16

/* One sample; src/event.rs reads the same. */
struct tg_event {
	u64 time_ns;
	u32 netns;
	u8 kind;
	u8 flags;
	u8 family;
	u8 state; /* icsk_ca_state */
	u16 local_port;
	u16 peer_port;
	u32 local[4];
	u32 peer[4];
	u32 una;
	u32 nxt;
	u32 bytes; /* newly acknowledged in order; packets delivered for tg_dctcp */
	u32 marked; /* of `bytes`, with ECE; for tg_dctcp */
	u32 mss;
	u32 window; /* bytes, as the rule has it */
	u32 ssthresh; /* bytes */
	u32 cwnd; /* packets, as the kernel has it */
	u32 alpha; /* in 1/1024 */
	u32 srtt_us;
	u32 ece;
	u32 ce;
	u32 cuts;
};

struct tg_step {
	u8 kind;
	u8 flags;
	u32 bytes;
	u32 marked;
	u32 window;
	u32 ssthresh;
	u32 alpha;
};

static __always_inline struct tcp_sock *tcp_sk(const struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static __always_inline struct inet_connection_sock *inet_csk(const struct sock *sk)
{
	return (struct inet_connection_sock *)sk;
}

static __always_inline u8 ca_state(const struct sock *sk)
{
	return BPF_CORE_READ_BITFIELD(inet_csk(sk), icsk_ca_state);
}

static __always_inline u32 packets_in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

/* Whether the window, not the application, limits the sender. */
static __always_inline bool is_window_in_use(const struct tcp_sock *tp)
{
	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return true;
	return tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out;
}

static __always_inline bool negotiated_ecn(const struct tcp_sock *tp)
{
	return tp->ecn_flags & TCP_ECN_OK;
}

static __always_inline void count_lost(void)
{
	u32 key = 0;
	struct tg_counters *all = bpf_map_lookup_elem(&counters, &key);

	if (all)
		__sync_fetch_and_add(&all->lost, 1);
}

static __always_inline void count_open(struct tg_conn *conn, bool ecn)
{
	u32 key = 0;
	struct tg_counters *all = bpf_map_lookup_elem(&counters, &key);

	conn->counted = ecn ? 1 : 2;
	if (!all)
		return;
	__sync_fetch_and_add(&all->sockets, 1);
	__sync_fetch_and_add(&all->opened, 1);
	if (!ecn) {
		__sync_fetch_and_add(&all->plain, 1);
		__sync_fetch_and_add(&all->refused, 1);
	}
}

static __always_inline void count_close(struct tg_conn *conn)
{
	u32 key = 0;
	struct tg_counters *all = bpf_map_lookup_elem(&counters, &key);

	if (!all || !conn->counted)
		return;
	__sync_fetch_and_add(&all->sockets, -1);
	if (conn->counted == 2)
		__sync_fetch_and_add(&all->plain, -1);
	conn->counted = 0;
}

/* The kernel takes in the SYN-ACK of a connection before it initialises its algorithm. */
static __always_inline bool has_begun(const struct tg_conn *conn)
{
	return conn->counted;
}

/* Sets the echo in the next ACK. */
static __always_inline void set_echo(struct tcp_sock *tp, bool marked)
{
	if (marked)
		tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
	else
		tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
}

/* Whether an observer wants this step, or a sample of this connection now. */
static __always_inline bool is_wanted(struct tg_conn *conn, u8 kind, bool *every_step)
{
	u32 key = 0, now;
	u64 *every = bpf_map_lookup_elem(&control, &key);

	*every_step = every && *every == 1;
	if (!every || !*every)
		return false;
	if (*every_step || kind == STEP_END)
		return true;
	now = (u32)(bpf_ktime_get_ns() / 1000000);
	if (conn->last_ms && now - conn->last_ms < *every / 1000000)
		return false;
	conn->last_ms = now ? now : 1;
	return true;
}

static __always_inline void observe(struct sock *sk, struct tg_conn *conn, const struct tg_step *step)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct sock_common *common = (struct sock_common *)&sk->__sk_common;
	struct tg_event *event;
	bool every_step;

	if (!is_wanted(conn, step->kind, &every_step))
		return;
	event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
	if (!event) {
		count_lost();
		return;
	}
	event->time_ns = bpf_ktime_get_ns();
	event->netns = common->skc_net.net->ns.inum;
	event->kind = every_step || step->kind == STEP_END ? step->kind : STEP_SAMPLE;
	event->flags = step->flags;
	event->state = ca_state(sk);
	event->local_port = bpf_ntohs(tp->inet_conn.icsk_inet.inet_sport);
	event->peer_port = bpf_ntohs(common->skc_dport);
	event->family = common->skc_family;
	__builtin_memset(event->local, 0, sizeof(event->local));
	__builtin_memset(event->peer, 0, sizeof(event->peer));
	if (event->family == AF_INET6) {
		event->local[0] = common->skc_v6_rcv_saddr.in6_u.u6_addr32[0];
		event->local[1] = common->skc_v6_rcv_saddr.in6_u.u6_addr32[1];
		event->local[2] = common->skc_v6_rcv_saddr.in6_u.u6_addr32[2];
		event->local[3] = common->skc_v6_rcv_saddr.in6_u.u6_addr32[3];
		event->peer[0] = common->skc_v6_daddr.in6_u.u6_addr32[0];
		event->peer[1] = common->skc_v6_daddr.in6_u.u6_addr32[1];
		event->peer[2] = common->skc_v6_daddr.in6_u.u6_addr32[2];
		event->peer[3] = common->skc_v6_daddr.in6_u.u6_addr32[3];
	} else {
		event->local[0] = common->skc_rcv_saddr;
		event->peer[0] = common->skc_daddr;
	}
	event->una = tp->snd_una;
	event->nxt = tp->snd_nxt;
	event->bytes = step->bytes;
	event->marked = step->marked;
	event->mss = tp->mss_cache;
	event->window = step->window;
	event->ssthresh = step->ssthresh;
	event->cwnd = tp->snd_cwnd;
	event->alpha = step->alpha;
	event->srtt_us = tp->srtt_us >> 3;
	event->ece = conn->ece;
	event->ce = conn->ce;
	event->cuts = conn->cuts;
	bpf_ringbuf_submit(event, 0);
}

#endif
