// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * tg_dctcp: DCTCP at both ends of a connection, RFC 8257.
 * The rule keeps α and answers the kernel's question for the slow start threshold; growth (Reno),
 * the state CWR, and how sending slows down (PRR) are the kernel's.
 * The kernel sends every segment of a socket whose algorithm asks for ECN (TCP_CONG_NEEDS_ECN) as
 * ECT(0), even if the peer refused. So a connection whose peer refused goes on under a second name,
 * which does not ask and is Reno: switches drop its packets instead of setting marks without an
 * echo.
 */
#include "tidegate.h"
#include "own_window.h"
#include "dctcp_rule.h"

char _license[] SEC("license") = "Dual MIT/GPL";

#define PLAIN_NAME "tg_dctcp_reno"

const volatile struct dctcp_params params SEC(".rodata.params") = {
	.gain_shift = 4,
	.initial_alpha = ALPHA_ONE,
	.min_window = 2,
	.loss = LOSS_HALF,
	.echo = ECHO_TWO_ACKS,
};

struct dctcp_ca {
	struct tg_conn conn;
	struct tg_alpha a;
	u32 delivered; /* packets, at the last ACK */
	u32 delivered_ce;
	u32 loss_cwnd; /* the window before the last reduction */
	u32 prior_rcv_nxt; /* the next byte expected, before the segment in hand */
};

_Static_assert(sizeof(struct dctcp_ca) <= CA_PRIVATE_BYTES, "fits the socket");

static __always_inline struct dctcp_ca *ca_of(struct sock *sk)
{
	return (struct dctcp_ca *)inet_csk(sk)->icsk_ca_priv;
}

static __always_inline bool is_plain(const struct dctcp_ca *ca)
{
	return ca->conn.counted == 2;
}

static __always_inline void report(struct sock *sk, u8 kind, u8 flags, u32 delivered, u32 marked, u32 ssthresh)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct dctcp_ca *ca = ca_of(sk);
	struct tg_step step = {
		.kind = kind,
		.flags = flags,
		.bytes = delivered,
		.marked = marked,
		.window = tp->snd_cwnd * tp->mss_cache,
		.ssthresh = ssthresh >= MAX_WINDOW / larger(tp->mss_cache, 1) ? NO_THRESHOLD :
										ssthresh * tp->mss_cache,
		.alpha = ca->a.alpha,
	};

	observe(sk, &ca->conn, &step);
}

static __always_inline void begin(struct sock *sk, bool ecn)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct dctcp_ca *ca = ca_of(sk);

	ca->conn.una = tp->snd_una;
	ca->delivered = tp->delivered;
	ca->delivered_ce = tp->delivered_ce;
	ca->prior_rcv_nxt = tp->rcv_nxt;
	alpha_reset(&ca->a, params.initial_alpha, tp->snd_nxt);
	count_open(&ca->conn, ecn);
	report(sk, STEP_BEGIN, 0, 0, 0, tp->snd_ssthresh);
}

/* Whether the socket has another algorithm now. After an unload the second name is gone, but a
 * listener may still have the first: then it is the kernel's own Reno, which is not counted
 * here. */
static __always_inline bool is_handed_over(struct sock *sk)
{
	char plain[16] = PLAIN_NAME, reno[16] = "reno";

	return !bpf_setsockopt(sk, SOL_TCP, TCP_CONGESTION, plain, sizeof(plain)) ||
	       !bpf_setsockopt(sk, SOL_TCP, TCP_CONGESTION, reno, sizeof(reno));
}

SEC("struct_ops")
void BPF_PROG(dctcp_init, struct sock *sk)
{
	bool ecn = negotiated_ecn(tcp_sk(sk));

	if (ecn || !is_handed_over(sk))
		begin(sk, ecn);
}

SEC("struct_ops")
void BPF_PROG(dctcp_plain_init, struct sock *sk)
{
	begin(sk, false);
}

SEC("struct_ops")
void BPF_PROG(dctcp_release, struct sock *sk)
{
	/* A connection that is handed over has not begun. */
	if (!has_begun(&ca_of(sk)->conn))
		return;
	report(sk, STEP_END, 0, 0, 0, tcp_sk(sk)->snd_ssthresh);
	count_close(&ca_of(sk)->conn);
}

SEC("struct_ops")
void BPF_PROG(dctcp_in_ack_event, struct sock *sk, u32 flags)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct dctcp_ca *ca = ca_of(sk);
	u32 delivered = tp->delivered - ca->delivered;
	u32 marked = tp->delivered_ce - ca->delivered_ce;
	bool advanced = is_after(tp->snd_una, ca->conn.una);

	if (!has_begun(&ca->conn))
		return;
	note_echo(&ca->conn, flags);
	ca->delivered += delivered;
	ca->delivered_ce += marked;
	ca->conn.una = tp->snd_una;
	dctcp_on_ack(&ca->a, &params, delivered, marked, advanced, tp->snd_una, tp->snd_nxt);
	report(sk, STEP_ACK, (ca->conn.echo ? FLAG_ECHO : 0) | (advanced ? FLAG_MAY_GROW : 0), delivered, marked,
	       tp->snd_ssthresh);
}

SEC("struct_ops")
u32 BPF_PROG(dctcp_ssthresh, struct sock *sk)
{
	struct dctcp_ca *ca = ca_of(sk);
	u32 cwnd = tcp_sk(sk)->snd_cwnd, cut;

	if (is_plain(ca))
		return tcp_reno_ssthresh(sk);
	ca->loss_cwnd = cwnd;
	cut = dctcp_cut(&ca->a, &params, cwnd);
	if (ca->conn.echo) {
		ca->conn.cuts++;
		report(sk, STEP_CUT, FLAG_REDUCED, 0, 0, cut);
	}
	return cut;
}

/* After `ssthresh`, whose answer it replaces. */
static __always_inline void react_to_loss(struct sock *sk, u8 kind)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct dctcp_ca *ca = ca_of(sk);

	if (is_plain(ca) || !has_begun(&ca->conn))
		return;
	ca->loss_cwnd = tp->snd_cwnd;
	tp->snd_ssthresh = dctcp_loss(&ca->a, &params, tp->snd_cwnd);
	report(sk, kind, 0, 0, 0, tp->snd_ssthresh);
}

SEC("struct_ops")
void BPF_PROG(dctcp_set_state, struct sock *sk, u8 state)
{
	if (state == TCP_CA_Recovery && ca_state(sk) != TCP_CA_Recovery)
		react_to_loss(sk, STEP_LOSS);
}

/* RFC 8257, section 3.2, and its variants: effect of a change of CE on the pending ACK and the
 * next. */
static __always_inline void echo(struct sock *sk, bool marked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct dctcp_ca *ca = ca_of(sk);
	struct inet_connection_sock *icsk = inet_csk(sk);

	if (marked != ca->conn.ce_state) {
		if (params.echo != ECHO_ONE_ACK && icsk->icsk_ack.pending & ICSK_ACK_TIMER) {
			/* Older data waits: its own ACK, with the old state, which CWR may have cleared. */
			set_echo(tp, ca->conn.ce_state);
			bpf_tcp_send_ack(tp, ca->prior_rcv_nxt);
		}
		if (params.echo != ECHO_PAPER)
			icsk->icsk_ack.pending |= ICSK_ACK_NOW;
	}
	ca->prior_rcv_nxt = tp->rcv_nxt;
	ca->conn.ce_state = marked;
	ca->conn.ce += marked;
	set_echo(tp, marked);
}

SEC("struct_ops")
void BPF_PROG(dctcp_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_ECN_IS_CE || event == CA_EVENT_ECN_NO_CE) {
		echo(sk, event == CA_EVENT_ECN_IS_CE);
		report(sk, STEP_SAMPLE, 0, 0, 0, tcp_sk(sk)->snd_ssthresh);
	} else if (event == CA_EVENT_LOSS) {
		react_to_loss(sk, STEP_TIMEOUT);
	}
}

SEC("struct_ops")
void BPF_PROG(dctcp_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
}

SEC("struct_ops")
u32 BPF_PROG(dctcp_undo_cwnd, struct sock *sk)
{
	struct dctcp_ca *ca = ca_of(sk);

	if (is_plain(ca))
		return tcp_reno_undo_cwnd(sk);
	return larger(tcp_sk(sk)->snd_cwnd, ca->loss_cwnd);
}

#define DCTCP_HOOKS                                        \
	.release = (void *)dctcp_release,                  \
	.in_ack_event = (void *)dctcp_in_ack_event,        \
	.ssthresh = (void *)dctcp_ssthresh,                \
	.set_state = (void *)dctcp_set_state,              \
	.cwnd_event = (void *)dctcp_cwnd_event,            \
	.cong_avoid = (void *)dctcp_cong_avoid,            \
	.undo_cwnd = (void *)dctcp_undo_cwnd

SEC(".struct_ops.link")
struct tcp_congestion_ops tg_dctcp_reno = {
	.init = (void *)dctcp_plain_init,
	DCTCP_HOOKS,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = PLAIN_NAME,
};

SEC(".struct_ops.link")
struct tcp_congestion_ops tg_dctcp = {
	.init = (void *)dctcp_init,
	DCTCP_HOOKS,
	.flags = TCP_CONG_NON_RESTRICTED | TCP_CONG_NEEDS_ECN,
	.name = "tg_dctcp",
};

/* --- The same rule on a trace of a test's making: windows in packets. --- */

struct tg_alpha replayed;

SEC("syscall")
int replay(struct tg_replay *step)
{
	u32 marked = step->flags & FLAG_ECHO ? step->bytes : 0;

	if (step->kind == STEP_BEGIN)
		alpha_reset(&replayed, params.initial_alpha, step->sent);
	else if (step->kind == STEP_ACK)
		dctcp_on_ack(&replayed, &params, step->bytes, marked, step->flags & FLAG_MAY_GROW, step->ack,
			     step->sent);
	step->alpha = replayed.alpha;
	/* This window after a mark, and after a loss. */
	step->ssthresh = dctcp_cut(&replayed, &params, step->window);
	step->reduced = dctcp_loss(&replayed, &params, step->window);
	return 0;
}
