/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * One-sided algorithms have two names. The kernel sends a SYN with ECT(0) if the algorithm of the
 * socket asks for ECN (TCP_CONG_NEEDS_ECN), and a peer with standard ECN then refuses it, as RFC
 * 3168, section 6.1.1 has it. So the name that users choose does not ask: it opens the connection
 * as any other and hands it over to the second name, with `_e`, once ECN is negotiated. If it is
 * not, the connection stays with the first name, which is Reno.
 */
#ifndef TIDEGATE_TAKEOVER_H
#define TIDEGATE_TAKEOVER_H

#include "tidegate.h"

#define OPENING(algorithm, established)                                                          \
	SEC("struct_ops")                                                                        \
	void BPF_PROG(opening_init, struct sock *sk)                                             \
	{                                                                                        \
		struct tg_conn *conn = (struct tg_conn *)inet_csk(sk)->icsk_ca_priv;             \
		char name[16] = established;                                                     \
                                                                                                 \
		if (negotiated_ecn(tcp_sk(sk)) &&                                                \
		    !bpf_setsockopt(sk, SOL_TCP, TCP_CONGESTION, name, sizeof(name)))            \
			return;                                                                  \
		count_open(conn, false);                                                         \
	}                                                                                        \
                                                                                                 \
	SEC("struct_ops")                                                                        \
	void BPF_PROG(opening_release, struct sock *sk)                                          \
	{                                                                                        \
		count_close((struct tg_conn *)inet_csk(sk)->icsk_ca_priv);                       \
	}                                                                                        \
                                                                                                 \
	SEC("struct_ops")                                                                        \
	u32 BPF_PROG(opening_ssthresh, struct sock *sk)                                          \
	{                                                                                        \
		return tcp_reno_ssthresh(sk);                                                    \
	}                                                                                        \
                                                                                                 \
	SEC("struct_ops")                                                                        \
	void BPF_PROG(opening_cong_avoid, struct sock *sk, u32 ack, u32 acked)                   \
	{                                                                                        \
		tcp_reno_cong_avoid(sk, ack, acked);                                             \
	}                                                                                        \
                                                                                                 \
	SEC("struct_ops")                                                                        \
	u32 BPF_PROG(opening_undo_cwnd, struct sock *sk)                                         \
	{                                                                                        \
		return tcp_reno_undo_cwnd(sk);                                                   \
	}                                                                                        \
                                                                                                 \
	SEC(".struct_ops.link")                                                                  \
	struct tcp_congestion_ops algorithm = {                                                  \
		.init = (void *)opening_init,                                                    \
		.release = (void *)opening_release,                                              \
		.ssthresh = (void *)opening_ssthresh,                                            \
		.cong_avoid = (void *)opening_cong_avoid,                                        \
		.undo_cwnd = (void *)opening_undo_cwnd,                                          \
		.flags = TCP_CONG_NON_RESTRICTED,                                                \
		.name = #algorithm,                                                              \
	}

#endif
