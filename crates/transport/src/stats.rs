//! Counters of an endpoint.

/// Counts since the connection was made. Those that change with every segment stand together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
#[non_exhaustive]
pub struct Stats {
    /// Segments sent that repeat payload, SYN or FIN.
    pub retransmissions: u64,
    /// Payload bytes sent again.
    pub bytes_retransmitted: u64,
    /// Segments that arrived and were ignored or only answered: out of the window, or senseless.
    pub segments_refused: u64,
    /// Duplicate ACKs that arrived.
    pub duplicate_acks: u64,
    /// Reductions of the window because of echoed marks.
    pub mark_reductions: u64,
    /// Times that fast recovery began.
    pub fast_recoveries: u64,
    /// Times that the retransmission timer ran out.
    pub timeouts: u64,
    /// Probes of a closed window.
    pub window_probes: u64,
    /// Segments with payload that arrived with CE.
    pub marks_received: u64,
    /// Acceptable ACKs that carried ECE.
    pub echoes_received: u64,
    /// Segments sent without payload, SYN, FIN or RST.
    pub pure_acks_sent: u64,
    /// Payload bytes sent, retransmissions included.
    pub bytes_sent: u64,
    /// Segments sent, of every kind.
    pub segments_sent: u64,
    /// Segments that arrived.
    pub segments_received: u64,
}
