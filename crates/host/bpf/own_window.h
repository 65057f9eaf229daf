/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Between a rule that sets the window itself and the socket: bytes here, packets there. */
#ifndef TIDEGATE_OWN_WINDOW_H
#define TIDEGATE_OWN_WINDOW_H

#include "tidegate.h"
#include "rule.h"

/* A step of a rule on a trace of a test's making; src/kernel/replay.rs writes the same. */
struct tg_replay {
	u32 kind;
	u32 flags;
	u32 ack;
	u32 sent;
	u32 bytes;
	u32 mss;
	u32 reduced;
	u32 window;
	u32 ssthresh;
	u32 alpha;
};

static __always_inline u32 packets(const struct tg_window *w)
{
	return larger(w->window / larger(w->mss, 1), 1);
}

static __always_inline u32 threshold_packets(const struct tg_window *w)
{
	if (w->ssthresh == NO_THRESHOLD)
		return TCP_INFINITE_SSTHRESH;
	return larger(w->ssthresh / larger(w->mss, 1), 2);
}

/* Another window or segment size than the rule has left is the kernel's doing: an undone reduction,
 * a new path. The rule goes on from there. Says whether it was so. */
static __always_inline bool take_over_window(struct tcp_sock *tp, struct tg_window *w, const struct tg_conn *conn)
{
	u32 mss = larger(tp->mss_cache, 1);
	bool changed = false;

	if (mss != w->mss || tp->snd_cwnd != conn->cwnd) {
		w->limit = w->limit / larger(w->mss, 1) * mss;
		w->mss = mss;
		w->window = smaller(tp->snd_cwnd * mss, MAX_WINDOW);
		changed = true;
	}
	if (tp->snd_ssthresh != threshold_packets(w)) {
		w->ssthresh = tp->snd_ssthresh >= MAX_WINDOW / mss ? NO_THRESHOLD : tp->snd_ssthresh * mss;
		changed = true;
	}
	if (changed)
		w->credit = 0;
	return changed;
}

/* Pacing rate, by which the kernel sizes bursts, as for algorithms that leave the window to the
 * kernel: twice the rate of the window in slow start, 1.2 times after. */
static __always_inline void set_pacing_rate(struct tcp_sock *tp)
{
	struct sock *sk = (struct sock *)tp;
	u64 percent = tp->snd_cwnd < tp->snd_ssthresh / 2 ? 200 : 120;
	u64 rate = (u64)tp->mss_cache * larger(tp->snd_cwnd, tp->packets_out) * percent;

	/* The round trip is in eighths of a microsecond. */
	rate *= 8 * 10000;
	if (tp->srtt_us)
		rate /= tp->srtt_us;
	sk->sk_pacing_rate = rate < sk->sk_max_pacing_rate ? rate : sk->sk_max_pacing_rate;
}

/* `cwnd` is the rule's window or, at the start of a recovery, a window that lets a packet out. The
 * kernel has a limit of its own for both (`cwnd lock` of a route). Where the rule's window is above
 * the limit, `conn` keeps that window: it differs from the socket's, so the rule continues from the
 * limit at the next ACK, and never halves a window that it did not have. */
static __always_inline void write_packets(struct tcp_sock *tp, const struct tg_window *w, struct tg_conn *conn,
					  u32 cwnd)
{
	u32 limit = larger(tp->snd_cwnd_clamp, 1);

	cwnd = smaller(cwnd, limit);
	tp->snd_cwnd = cwnd;
	tp->snd_ssthresh = threshold_packets(w);
	conn->cwnd = packets(w) > limit ? packets(w) : cwnd;
	set_pacing_rate(tp);
}

static __always_inline void note_echo(struct tg_conn *conn, u32 flags)
{
	conn->echo = !!(flags & CA_ACK_ECE);
	conn->ece += conn->echo;
}

/* The ACK in hand as the rule sees it. Returns the flags of its sample. */
static __always_inline u8 read_ack(struct sock *sk, struct tg_conn *conn, struct tg_acked *acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	bool was_in_recovery = conn->in_recovery;

	acked->ack = tp->snd_una;
	acked->sent = tp->snd_nxt;
	acked->bytes = is_after(tp->snd_una, conn->una) ? tp->snd_una - conn->una : 0;
	acked->echo = conn->echo;
	acked->in_recovery = ca_state(sk) == TCP_CA_Recovery;
	acked->may_grow = acked->bytes && !was_in_recovery && !acked->in_recovery && is_window_in_use(tp);
	conn->una = tp->snd_una;
	conn->echo = 0;
	return (acked->echo ? FLAG_ECHO : 0) | (acked->may_grow ? FLAG_MAY_GROW : 0) |
	       (acked->in_recovery ? FLAG_IN_RECOVERY : 0);
}

/* The window after the ACK. The first retransmission of a recovery leaves with any number of bytes
 * in flight (RFC 6675, section 5, step 4.3); data beyond the window wait. */
static __always_inline void write_window(struct tcp_sock *tp, const struct tg_window *w, struct tg_conn *conn,
					 const struct tg_acked *acked)
{
	u32 cwnd = packets(w);

	if (acked->in_recovery && !conn->in_recovery)
		cwnd = larger(cwnd, packets_in_flight(tp) + 1);
	conn->in_recovery = acked->in_recovery;
	write_packets(tp, w, conn, cwnd);
}

/* Whether nothing was sent for longer than a retransmission timeout, and that should count. */
static __always_inline bool was_idle(struct sock *sk)
{
	u32 last = tcp_sk(sk)->lsndtime;

	if (!sk->__sk_common.skc_net.net->ipv4.sysctl_tcp_slow_start_after_idle)
		return false;
	return last && (s32)((u32)bpf_jiffies64() - last) > (s32)inet_csk(sk)->icsk_rto;
}

#endif
