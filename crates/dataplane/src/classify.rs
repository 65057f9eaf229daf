//! From a packet's header to its queue.
