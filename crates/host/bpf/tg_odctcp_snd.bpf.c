// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * tg_odctcp_snd: ODCTCP's sender, towards a receiver of standard ECN.
 *
 * The rule sets the window itself (`cong_control`), so that neither the kernel's state CWR nor its
 * proportional rate reduction stops growth. The kernel still enters CWR on an echo, once per window of
 * data, and sends CWR then.
 */
#include "tidegate.h"
#include "takeover.h"
#include "odctcp_rule.h"

char _license[] SEC("license") = "Dual MIT/GPL";

const volatile struct odctcp_params params SEC(".rodata.params") = {
	.gain_shift = 4,
	.initial_alpha = 0,
	.min_window = 2,
	.regrowth = REGROWTH_CONTINUES,
	.abc = 2,
};

struct odctcp_ca {
	struct tg_conn conn;
	struct odctcp rule;
	u32 initial;
};

_Static_assert(sizeof(struct odctcp_ca) <= CA_PRIVATE_BYTES, "fits the socket");

static __always_inline struct odctcp_ca *ca_of(struct sock *sk)
{
	return (struct odctcp_ca *)inet_csk(sk)->icsk_ca_priv;
}

static __always_inline void report(struct sock *sk, struct odctcp_ca *ca, u8 kind, u8 flags, u32 bytes)
{
	struct tg_step step = {
		.kind = kind,
		.flags = flags,
		.bytes = bytes,
		.window = ca->rule.w.window,
		.ssthresh = ca->rule.w.ssthresh,
		.alpha = ca->rule.a.alpha,
	};

	observe(sk, &ca->conn, &step);
}

#include "own_window.h"

static __always_inline void take_over(struct sock *sk, struct odctcp_ca *ca)
{
	if (take_over_window(tcp_sk(sk), &ca->rule.w, &ca->conn))
		report(sk, ca, STEP_RESYNC, 0, 0);
}

SEC("struct_ops")
void BPF_PROG(odctcp_init, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct odctcp_ca *ca = ca_of(sk);

	ca->conn.una = tp->snd_una;
	ca->conn.cwnd = tp->snd_cwnd;
	ca->initial = tp->snd_cwnd * tp->mss_cache;
	odctcp_begin(&ca->rule, &params, larger(tp->mss_cache, 1), ca->initial, tp->snd_nxt);
	count_open(&ca->conn, negotiated_ecn(tp));
	report(sk, ca, STEP_BEGIN, 0, 0);
}

SEC("struct_ops")
void BPF_PROG(odctcp_release, struct sock *sk)
{
	report(sk, ca_of(sk), STEP_END, 0, 0);
	count_close(&ca_of(sk)->conn);
}

SEC("struct_ops")
void BPF_PROG(odctcp_in_ack_event, struct sock *sk, u32 flags)
{
	note_echo(&ca_of(sk)->conn, flags);
}

SEC("struct_ops")
void BPF_PROG(odctcp_cong_control, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct odctcp_ca *ca = ca_of(sk);
	struct tg_acked acked;
	u8 flags;

	if (!has_begun(&ca->conn))
		return;
	take_over(sk, ca);
	flags = read_ack(sk, &ca->conn, &acked);
	if (odctcp_on_ack(&ca->rule, &params, &acked)) {
		ca->conn.cuts++;
		tp->ecn_flags |= TCP_ECN_QUEUE_CWR;
		flags |= FLAG_REDUCED;
	}
	write_window(tp, &ca->rule.w, &ca->conn, &acked);
	report(sk, ca, STEP_ACK, flags, acked.bytes);
}

SEC("struct_ops")
void BPF_PROG(odctcp_set_state, struct sock *sk, u8 state)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct odctcp_ca *ca = ca_of(sk);
	u8 before = ca_state(sk);

	if (!has_begun(&ca->conn))
		return;
	if (state == TCP_CA_Loss) {
		u32 flight = tp->snd_nxt - tp->snd_una;
		bool repeated = inet_csk(sk)->icsk_retransmits > 0;

		odctcp_on_timeout(&ca->rule, &params, flight, tp->snd_nxt, repeated);
		write_packets(tp, &ca->rule.w, &ca->conn, packets(&ca->rule.w));
		report(sk, ca, STEP_TIMEOUT, repeated ? FLAG_REPEATED : 0, flight);
	} else if (state == TCP_CA_Recovery && before != TCP_CA_Recovery) {
		take_over(sk, ca);
		odctcp_on_loss(&ca->rule, tp->snd_nxt);
		write_packets(tp, &ca->rule.w, &ca->conn, packets(&ca->rule.w));
		report(sk, ca, STEP_LOSS, 0, 0);
	} else if (before == TCP_CA_Recovery && state != TCP_CA_Recovery) {
		odctcp_on_recovered(&ca->rule, &params, tp->snd_una);
		report(sk, ca, STEP_RECOVERED, 0, 0);
	}
}

SEC("struct_ops")
void BPF_PROG(odctcp_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct odctcp_ca *ca = ca_of(sk);

	if (has_begun(&ca->conn) && event == CA_EVENT_TX_START && was_idle(sk)) {
		take_over(sk, ca);
		odctcp_on_idle(&ca->rule, &params, ca->initial, tp->snd_nxt);
		write_packets(tp, &ca->rule.w, &ca->conn, packets(&ca->rule.w));
		report(sk, ca, STEP_IDLE, 0, 0);
	}
}

SEC("struct_ops")
u32 BPF_PROG(odctcp_ssthresh, struct sock *sk)
{
	struct odctcp_ca *ca = ca_of(sk);

	/* What the kernel asks for on entering CWR, recovery or loss; the rule decides in its own hooks. */
	return has_begun(&ca->conn) ? threshold_packets(&ca->rule.w) : tcp_reno_ssthresh(sk);
}

SEC("struct_ops")
u32 BPF_PROG(odctcp_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops tg_odctcp_snd_e = {
	.init = (void *)odctcp_init,
	.release = (void *)odctcp_release,
	.in_ack_event = (void *)odctcp_in_ack_event,
	.cong_control = (void *)odctcp_cong_control,
	.set_state = (void *)odctcp_set_state,
	.cwnd_event = (void *)odctcp_cwnd_event,
	.ssthresh = (void *)odctcp_ssthresh,
	.undo_cwnd = (void *)odctcp_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED | TCP_CONG_NEEDS_ECN,
	.name = "tg_odctcp_snd_e",
};

OPENING(tg_odctcp_snd, "tg_odctcp_snd_e");

/* --- The same rule on a trace of a test's making. --- */

struct odctcp replayed;

SEC("syscall")
int replay(struct tg_replay *step)
{
	struct tg_acked acked = {
		.ack = step->ack,
		.sent = step->sent,
		.bytes = step->bytes,
		.echo = step->flags & FLAG_ECHO,
		.in_recovery = step->flags & FLAG_IN_RECOVERY,
		.may_grow = step->flags & FLAG_MAY_GROW,
	};

	step->reduced = 0;
	if (step->kind == STEP_BEGIN)
		odctcp_begin(&replayed, &params, larger(step->mss, 1), step->bytes, step->sent);
	else if (step->kind == STEP_ACK)
		step->reduced = odctcp_on_ack(&replayed, &params, &acked);
	else if (step->kind == STEP_LOSS)
		odctcp_on_loss(&replayed, step->sent);
	else if (step->kind == STEP_RECOVERED)
		odctcp_on_recovered(&replayed, &params, step->ack);
	else if (step->kind == STEP_TIMEOUT)
		odctcp_on_timeout(&replayed, &params, step->bytes, step->sent, step->flags & FLAG_REPEATED);
	else if (step->kind == STEP_IDLE)
		odctcp_on_idle(&replayed, &params, step->bytes, step->sent);
	step->window = replayed.w.window;
	step->ssthresh = replayed.w.ssthresh;
	step->alpha = replayed.a.alpha;
	return 0;
}
