// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * tg_ecn_star: ECN*, standard ECN that halves the window itself and goes on growing.
 * It does not ask for ECN by itself: a connection has it if `net.ipv4.tcp_ecn` or the route says
 * so, as for any other algorithm. The kernel echoes, and sends CWR, as RFC 3168 has it.
 */
#include "tidegate.h"
#include "ecn_star_rule.h"

char _license[] SEC("license") = "Dual MIT/GPL";

const volatile struct rule_params params SEC(".rodata.params") = {
	.min_window = 1,
	.regrowth = REGROWTH_EXCEPT_FIRST_ECHO,
	.abc = 255,
};

#include "congestion_control.h"

SEC(".struct_ops.link")
struct tcp_congestion_ops tg_ecn_star = {
	CONGESTION_CONTROL_HOOKS,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "tg_ecn_star",
};
