// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * tg_ecn_star: ECN*, standard ECN that halves the window itself and goes on growing.
 *
 * It does not ask for ECN by itself: a connection has it if `net.ipv4.tcp_ecn` or the route says so, as
 * for any other algorithm. The kernel echoes, and sends CWR, as RFC 3168 has it.
 */
#include "tidegate.h"
#include "ecn_star_rule.h"

char _license[] SEC("license") = "Dual MIT/GPL";

const volatile struct ecn_star_params params SEC(".rodata.params") = {
	.min_window = 1,
	.regrowth = REGROWTH_EXCEPT_FIRST_ECHO,
	.abc = 255,
};

struct ecn_star_ca {
	struct tg_conn conn;
	struct ecn_star rule;
	u32 initial;
};

_Static_assert(sizeof(struct ecn_star_ca) <= CA_PRIVATE_BYTES, "fits the socket");

static __always_inline struct ecn_star_ca *ca_of(struct sock *sk)
{
	return (struct ecn_star_ca *)inet_csk(sk)->icsk_ca_priv;
}

static __always_inline void report(struct sock *sk, struct ecn_star_ca *ca, u8 kind, u8 flags, u32 bytes)
{
	struct tg_step step = {
		.kind = kind,
		.flags = flags,
		.bytes = bytes,
		.window = ca->rule.w.window,
		.ssthresh = ca->rule.w.ssthresh,
	};

	observe(sk, &ca->conn, &step);
}

#include "own_window.h"

static __always_inline void take_over(struct sock *sk, struct ecn_star_ca *ca)
{
	if (take_over_window(tcp_sk(sk), &ca->rule.w, &ca->conn))
		report(sk, ca, STEP_RESYNC, 0, 0);
}

SEC("struct_ops")
void BPF_PROG(ecn_star_init, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ecn_star_ca *ca = ca_of(sk);

	ca->conn.una = tp->snd_una;
	ca->conn.cwnd = tp->snd_cwnd;
	ca->initial = tp->snd_cwnd * tp->mss_cache;
	ecn_star_begin(&ca->rule, &params, larger(tp->mss_cache, 1), ca->initial);
	count_open(&ca->conn, negotiated_ecn(tp));
	report(sk, ca, STEP_BEGIN, 0, 0);
}

SEC("struct_ops")
void BPF_PROG(ecn_star_release, struct sock *sk)
{
	report(sk, ca_of(sk), STEP_END, 0, 0);
	count_close(&ca_of(sk)->conn);
}

SEC("struct_ops")
void BPF_PROG(ecn_star_in_ack_event, struct sock *sk, u32 flags)
{
	note_echo(&ca_of(sk)->conn, flags);
}

SEC("struct_ops")
void BPF_PROG(ecn_star_cong_control, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ecn_star_ca *ca = ca_of(sk);
	struct tg_acked acked;
	u8 flags;

	if (!has_begun(&ca->conn))
		return;
	take_over(sk, ca);
	flags = read_ack(sk, &ca->conn, &acked);
	if (ecn_star_on_ack(&ca->rule, &params, &acked)) {
		ca->conn.cuts++;
		tp->ecn_flags |= TCP_ECN_QUEUE_CWR;
		flags |= FLAG_REDUCED;
	}
	write_window(tp, &ca->rule.w, &ca->conn, &acked);
	report(sk, ca, STEP_ACK, flags, acked.bytes);
}

SEC("struct_ops")
void BPF_PROG(ecn_star_set_state, struct sock *sk, u8 state)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ecn_star_ca *ca = ca_of(sk);
	u8 before = ca_state(sk);

	if (!has_begun(&ca->conn))
		return;
	if (state == TCP_CA_Loss) {
		u32 flight = tp->snd_nxt - tp->snd_una;
		bool repeated = inet_csk(sk)->icsk_retransmits > 0;

		ecn_star_on_timeout(&ca->rule, tp->snd_nxt, repeated);
		write_packets(tp, &ca->rule.w, &ca->conn, packets(&ca->rule.w));
		report(sk, ca, STEP_TIMEOUT, repeated ? FLAG_REPEATED : 0, flight);
	} else if (state == TCP_CA_Recovery && before != TCP_CA_Recovery) {
		take_over(sk, ca);
		ecn_star_on_loss(&ca->rule, &params, tp->snd_nxt);
		write_packets(tp, &ca->rule.w, &ca->conn, packets(&ca->rule.w));
		report(sk, ca, STEP_LOSS, 0, 0);
	} else if (before == TCP_CA_Recovery && state != TCP_CA_Recovery) {
		ecn_star_on_recovered(&ca->rule);
		report(sk, ca, STEP_RECOVERED, 0, 0);
	}
}

SEC("struct_ops")
void BPF_PROG(ecn_star_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ecn_star_ca *ca = ca_of(sk);

	if (has_begun(&ca->conn) && event == CA_EVENT_TX_START && was_idle(sk)) {
		take_over(sk, ca);
		ecn_star_on_idle(&ca->rule, ca->initial);
		write_packets(tp, &ca->rule.w, &ca->conn, packets(&ca->rule.w));
		report(sk, ca, STEP_IDLE, 0, 0);
	}
}

SEC("struct_ops")
u32 BPF_PROG(ecn_star_ssthresh, struct sock *sk)
{
	struct ecn_star_ca *ca = ca_of(sk);

	/* What the kernel asks for on entering CWR, recovery or loss; the rule decides in its own hooks. */
	return has_begun(&ca->conn) ? threshold_packets(&ca->rule.w) : tcp_reno_ssthresh(sk);
}

SEC("struct_ops")
u32 BPF_PROG(ecn_star_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops tg_ecn_star = {
	.init = (void *)ecn_star_init,
	.release = (void *)ecn_star_release,
	.in_ack_event = (void *)ecn_star_in_ack_event,
	.cong_control = (void *)ecn_star_cong_control,
	.set_state = (void *)ecn_star_set_state,
	.cwnd_event = (void *)ecn_star_cwnd_event,
	.ssthresh = (void *)ecn_star_ssthresh,
	.undo_cwnd = (void *)ecn_star_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "tg_ecn_star",
};

/* --- The same rule on a trace of a test's making. --- */

struct ecn_star replayed;

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
		ecn_star_begin(&replayed, &params, larger(step->mss, 1), step->bytes);
	else if (step->kind == STEP_ACK)
		step->reduced = ecn_star_on_ack(&replayed, &params, &acked);
	else if (step->kind == STEP_LOSS)
		ecn_star_on_loss(&replayed, &params, step->sent);
	else if (step->kind == STEP_RECOVERED)
		ecn_star_on_recovered(&replayed);
	else if (step->kind == STEP_TIMEOUT)
		ecn_star_on_timeout(&replayed, step->sent, step->flags & FLAG_REPEATED);
	else if (step->kind == STEP_IDLE)
		ecn_star_on_idle(&replayed, step->bytes);
	step->window = replayed.w.window;
	step->ssthresh = replayed.w.ssthresh;
	step->alpha = 0;
	return 0;
}
