// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Walks the TCP sockets of a network namespace: counts those with an algorithm, and gives them
 * another. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#define SOL_TCP 6
#define TCP_CONGESTION 13
#define NAME_BYTES 16
#define TCP_LISTEN 10

char _license[] SEC("license") = "Dual MIT/GPL";

/* Which sockets get another algorithm. */
enum reach {
	REACH_NONE = 0,
	REACH_LISTENERS = 1,
	REACH_ALL = 2,
};

struct walk {
	char from[2][NAME_BYTES]; /* the names of the algorithm; the second may be empty */
	char to[NAME_BYTES];
	u64 reach;
	u64 connections;
	u64 listeners;
	u64 failed;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct walk);
} walk SEC(".maps");

static __always_inline bool is_same(const char *name, const char *other)
{
	for (int i = 0; i < NAME_BYTES; i++) {
		if (name[i] != other[i])
			return false;
		if (!name[i])
			return i > 0;
	}
	return true;
}

SEC("iter/tcp")
int fall_back(struct bpf_iter__tcp *ctx)
{
	struct sock_common *common = ctx->sk_common;
	char name[NAME_BYTES] = {};
	struct tcp_sock *tp;
	struct walk *w;
	u32 key = 0;
	bool listens;

	w = bpf_map_lookup_elem(&walk, &key);
	if (!common || !w)
		return 0;
	tp = bpf_skc_to_tcp_sock(common);
	if (!tp || bpf_getsockopt(tp, SOL_TCP, TCP_CONGESTION, name, sizeof(name)))
		return 0;
	if (!is_same(name, w->from[0]) && !is_same(name, w->from[1]))
		return 0;
	listens = common->skc_state == TCP_LISTEN;
	if (listens)
		w->listeners++;
	else
		w->connections++;
	if (w->reach == REACH_NONE || (w->reach == REACH_LISTENERS && !listens))
		return 0;
	if (bpf_setsockopt(tp, SOL_TCP, TCP_CONGESTION, w->to, sizeof(w->to)))
		w->failed++;
	return 0;
}
