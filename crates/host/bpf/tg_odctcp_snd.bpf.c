// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * tg_odctcp_snd: ODCTCP's sender, towards a receiver of standard ECN.
 * The rule sets the window itself (`cong_control`), so that neither the kernel's state CWR nor its
 * proportional rate reduction stops growth. The kernel still enters CWR on an echo, once per window
 * of data, and sends CWR then.
 */
#include "tidegate.h"
#include "takeover.h"
#include "odctcp_rule.h"

char _license[] SEC("license") = "Dual MIT/GPL";

const volatile struct rule_params params SEC(".rodata.params") = {
	.gain_shift = 4,
	.initial_alpha = 0,
	.min_window = 2,
	.regrowth = REGROWTH_CONTINUES,
	.abc = 2,
};

#include "congestion_control.h"

SEC(".struct_ops.link")
struct tcp_congestion_ops tg_odctcp_snd_e = {
	CONGESTION_CONTROL_HOOKS,
	.flags = TCP_CONG_NON_RESTRICTED | TCP_CONG_NEEDS_ECN,
	.name = "tg_odctcp_snd_e",
};

OPENING(tg_odctcp_snd, "tg_odctcp_snd_e");
