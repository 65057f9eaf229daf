/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Functions and types of the kernel that its headers for BPF leave out. */
#ifndef TIDEGATE_KERNEL_H
#define TIDEGATE_KERNEL_H

#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#ifndef __kptr
#define __kptr __attribute__((btf_type_tag("kptr")))
#endif
#define __contains(name, node) __attribute__((btf_decl_tag("contains:" #name ":" #node)))

#define NET_XMIT_SUCCESS 0
#define NET_XMIT_DROP 1
#define TC_ACT_UNSPEC (-1)

/* `bpf_sk_buff_ptr`, which kernels without BPF qdiscs do not describe. */
struct tg_to_free {
	struct sk_buff *skb;
};

extern void *bpf_obj_new_impl(__u64 type, void *meta) __ksym;
extern void bpf_obj_drop_impl(void *object, void *meta) __ksym;
#define bpf_obj_new(type) ((type *)bpf_obj_new_impl(bpf_core_type_id_local(type), NULL))
#define bpf_obj_drop(object) bpf_obj_drop_impl(object, NULL)

extern int bpf_list_push_back_impl(struct bpf_list_head *list, struct bpf_list_node *node, void *meta,
				   __u64 offset) __ksym;
extern struct bpf_list_node *bpf_list_pop_front(struct bpf_list_head *list) __ksym;
extern struct bpf_list_node *bpf_list_front(struct bpf_list_head *list) __ksym;
#define bpf_list_push_back(list, node) bpf_list_push_back_impl(list, node, NULL, 0)

extern void *bpf_rdonly_cast(const void *object, __u32 type) __ksym;
#ifndef bpf_core_cast
#define bpf_core_cast(pointer, type) ((type *)bpf_rdonly_cast((pointer), bpf_core_type_id_kernel(type)))
#endif

extern int bpf_iter_num_new(struct bpf_iter_num *iterator, int start, int end) __ksym;
extern int *bpf_iter_num_next(struct bpf_iter_num *iterator) __ksym;
extern void bpf_iter_num_destroy(struct bpf_iter_num *iterator) __ksym;

extern u32 bpf_skb_get_hash(struct sk_buff *skb) __ksym;
extern void bpf_kfree_skb(struct sk_buff *skb) __ksym;
extern void bpf_qdisc_skb_drop(struct sk_buff *skb, struct tg_to_free *to_free) __ksym;
extern void bpf_qdisc_watchdog_schedule(struct Qdisc *sch, __u64 expire, __u64 delta) __ksym;
extern void bpf_qdisc_bstats_update(struct Qdisc *sch, const struct sk_buff *skb) __ksym;

#endif
