// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * tg_odctcp_rcv: ODCTCP's receiver, for senders of standard ECN.
 * Thesis, section 5.2.2: ECE follows the CE of the last segment. A change of CE is acknowledged at
 * once, together with older data; but a segment that carries CWR keeps the delayed ACK waiting, so
 * that the sender's window opens by two segments after its reduction. The socket's own data uses
 * Reno.
 */
#include "tidegate.h"
#include "takeover.h"

char _license[] SEC("license") = "Dual MIT/GPL";

enum odctcp_echo {
	ECHO_ODCTCP = 0,
	ECHO_ODCTCP_INVERTED = 1,
};

struct odctcp_rcv_params {
	u32 echo;
};

const volatile struct odctcp_rcv_params params SEC(".rodata.params") = {
	.echo = ECHO_ODCTCP,
};

static __always_inline struct tg_conn *conn_of(struct sock *sk)
{
	return (struct tg_conn *)inet_csk(sk)->icsk_ca_priv;
}

static __always_inline void report(struct sock *sk, u8 kind, u8 flags)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct tg_step step = {
		.kind = kind,
		.flags = flags,
		.window = tp->snd_cwnd * tp->mss_cache,
		.ssthresh = 0xffffffff,
	};

	observe(sk, conn_of(sk), &step);
}

SEC("struct_ops")
void BPF_PROG(rcv_init, struct sock *sk)
{
	count_open(conn_of(sk), negotiated_ecn(tcp_sk(sk)));
	report(sk, STEP_BEGIN, 0);
}

SEC("struct_ops")
void BPF_PROG(rcv_release, struct sock *sk)
{
	report(sk, STEP_END, 0);
	count_close(conn_of(sk));
}

SEC("struct_ops")
void BPF_PROG(rcv_in_ack_event, struct sock *sk, u32 flags)
{
	struct tg_conn *conn = conn_of(sk);

	conn->echo = !!(flags & CA_ACK_ECE);
	conn->ece += conn->echo;
}

SEC("struct_ops")
void BPF_PROG(rcv_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct tg_conn *conn = conn_of(sk);
	struct inet_connection_sock *icsk = inet_csk(sk);
	bool marked = event == CA_EVENT_ECN_IS_CE, cwr;

	if (!marked && event != CA_EVENT_ECN_NO_CE)
		return;
	/* The kernel asks for an ACK at once when a segment carries CWR, just before this event. */
	cwr = icsk->icsk_ack.pending & ICSK_ACK_NOW;
	if (cwr && params.echo == ECHO_ODCTCP)
		icsk->icsk_ack.pending &= ~ICSK_ACK_NOW;
	else if (marked != conn->ce_state)
		icsk->icsk_ack.pending |= ICSK_ACK_NOW;
	conn->ce_state = marked;
	conn->ce += marked;
	set_echo(tp, marked);
	report(sk, STEP_SAMPLE, marked ? FLAG_ECHO : 0);
}

SEC("struct_ops")
u32 BPF_PROG(rcv_ssthresh, struct sock *sk)
{
	struct tg_conn *conn = conn_of(sk);

	conn->cuts += conn->echo;
	return tcp_reno_ssthresh(sk);
}

SEC("struct_ops")
void BPF_PROG(rcv_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
}

SEC("struct_ops")
u32 BPF_PROG(rcv_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops tg_odctcp_rcv_e = {
	.init = (void *)rcv_init,
	.release = (void *)rcv_release,
	.in_ack_event = (void *)rcv_in_ack_event,
	.cwnd_event = (void *)rcv_cwnd_event,
	.ssthresh = (void *)rcv_ssthresh,
	.cong_avoid = (void *)rcv_cong_avoid,
	.undo_cwnd = (void *)rcv_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED | TCP_CONG_NEEDS_ECN,
	.name = "tg_odctcp_rcv_e",
};

OPENING(tg_odctcp_rcv, "tg_odctcp_rcv_e");
