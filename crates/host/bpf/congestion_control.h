/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The hooks of an algorithm that sets the window itself (`cong_control`), for the rule whose header
 * was included before: `struct rule`, `struct rule_params` with the program's `params`, and
 * `rule_*`.
 */
#ifndef TIDEGATE_CONGESTION_CONTROL_H
#define TIDEGATE_CONGESTION_CONTROL_H

#include "tidegate.h"
#include "own_window.h"

struct window_ca {
	struct tg_conn conn;
	struct rule rule;
	u32 initial;
};

_Static_assert(sizeof(struct window_ca) <= CA_PRIVATE_BYTES, "fits the socket");

static __always_inline struct window_ca *ca_of(struct sock *sk)
{
	return (struct window_ca *)inet_csk(sk)->icsk_ca_priv;
}

static __always_inline void report(struct sock *sk, struct window_ca *ca, u8 kind, u8 flags, u32 bytes)
{
	struct tg_step step = {
		.kind = kind,
		.flags = flags,
		.bytes = bytes,
		.window = ca->rule.w.window,
		.ssthresh = ca->rule.w.ssthresh,
		.alpha = rule_alpha(&ca->rule),
	};

	observe(sk, &ca->conn, &step);
}

static __always_inline void take_over(struct sock *sk, struct window_ca *ca)
{
	if (take_over_window(tcp_sk(sk), &ca->rule.w, &ca->conn))
		report(sk, ca, STEP_RESYNC, 0, 0);
}

SEC("struct_ops")
void BPF_PROG(window_init, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct window_ca *ca = ca_of(sk);

	ca->conn.una = tp->snd_una;
	ca->conn.cwnd = tp->snd_cwnd;
	ca->initial = tp->snd_cwnd * tp->mss_cache;
	rule_begin(&ca->rule, &params, larger(tp->mss_cache, 1), ca->initial, tp->snd_nxt);
	count_open(&ca->conn, negotiated_ecn(tp));
	report(sk, ca, STEP_BEGIN, 0, 0);
}

SEC("struct_ops")
void BPF_PROG(window_release, struct sock *sk)
{
	report(sk, ca_of(sk), STEP_END, 0, 0);
	count_close(&ca_of(sk)->conn);
}

SEC("struct_ops")
void BPF_PROG(window_in_ack_event, struct sock *sk, u32 flags)
{
	note_echo(&ca_of(sk)->conn, flags);
}

SEC("struct_ops")
void BPF_PROG(window_cong_control, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct window_ca *ca = ca_of(sk);
	struct tg_acked acked;
	u8 flags;

	if (!has_begun(&ca->conn))
		return;
	take_over(sk, ca);
	flags = read_ack(sk, &ca->conn, &acked);
	if (rule_on_ack(&ca->rule, &params, &acked)) {
		ca->conn.cuts++;
		tp->ecn_flags |= TCP_ECN_QUEUE_CWR;
		flags |= FLAG_REDUCED;
	}
	write_window(tp, &ca->rule.w, &ca->conn, &acked);
	report(sk, ca, STEP_ACK, flags, acked.bytes);
}

SEC("struct_ops")
void BPF_PROG(window_set_state, struct sock *sk, u8 state)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct window_ca *ca = ca_of(sk);
	u8 before = ca_state(sk);

	if (!has_begun(&ca->conn))
		return;
	if (state == TCP_CA_Loss) {
		u32 flight = tp->snd_nxt - tp->snd_una;
		bool repeated = inet_csk(sk)->icsk_retransmits > 0;

		rule_on_timeout(&ca->rule, &params, flight, tp->snd_nxt, repeated);
		write_packets(tp, &ca->rule.w, &ca->conn, packets(&ca->rule.w));
		report(sk, ca, STEP_TIMEOUT, repeated ? FLAG_REPEATED : 0, flight);
	} else if (state == TCP_CA_Recovery && before != TCP_CA_Recovery) {
		take_over(sk, ca);
		rule_on_loss(&ca->rule, &params, tp->snd_una, tp->snd_nxt);
		write_packets(tp, &ca->rule.w, &ca->conn, packets(&ca->rule.w));
		report(sk, ca, STEP_LOSS, 0, 0);
	} else if (before == TCP_CA_Recovery && state != TCP_CA_Recovery) {
		rule_on_recovered(&ca->rule, &params, tp->snd_una);
		report(sk, ca, STEP_RECOVERED, 0, 0);
	}
}

SEC("struct_ops")
void BPF_PROG(window_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct window_ca *ca = ca_of(sk);

	if (has_begun(&ca->conn) && event == CA_EVENT_TX_START && was_idle(sk)) {
		take_over(sk, ca);
		rule_on_idle(&ca->rule, &params, ca->initial, tp->snd_nxt);
		write_packets(tp, &ca->rule.w, &ca->conn, packets(&ca->rule.w));
		report(sk, ca, STEP_IDLE, 0, 0);
	}
}

SEC("struct_ops")
u32 BPF_PROG(window_ssthresh, struct sock *sk)
{
	struct window_ca *ca = ca_of(sk);

	/* The kernel asks on entering CWR, recovery or loss; the rule decides in its own hooks. */
	return has_begun(&ca->conn) ? threshold_packets(&ca->rule.w) : tcp_reno_ssthresh(sk);
}

SEC("struct_ops")
u32 BPF_PROG(window_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

#define CONGESTION_CONTROL_HOOKS                                  \
	.init = (void *)window_init,                       \
	.release = (void *)window_release,                 \
	.in_ack_event = (void *)window_in_ack_event,       \
	.cong_control = (void *)window_cong_control,       \
	.set_state = (void *)window_set_state,             \
	.cwnd_event = (void *)window_cwnd_event,           \
	.ssthresh = (void *)window_ssthresh,               \
	.undo_cwnd = (void *)window_undo_cwnd

/* --- The same rule on a trace of a test's making. --- */

struct rule replayed;

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
		rule_begin(&replayed, &params, larger(step->mss, 1), step->bytes, step->sent);
	else if (step->kind == STEP_ACK)
		step->reduced = rule_on_ack(&replayed, &params, &acked);
	else if (step->kind == STEP_LOSS)
		rule_on_loss(&replayed, &params, step->ack, step->sent);
	else if (step->kind == STEP_RECOVERED)
		rule_on_recovered(&replayed, &params, step->ack);
	else if (step->kind == STEP_TIMEOUT)
		rule_on_timeout(&replayed, &params, step->bytes, step->sent, step->flags & FLAG_REPEATED);
	else if (step->kind == STEP_IDLE)
		rule_on_idle(&replayed, &params, step->bytes, step->sent);
	step->window = replayed.w.window;
	step->ssthresh = replayed.w.ssthresh;
	step->alpha = rule_alpha(&replayed);
	return 0;
}

#endif
