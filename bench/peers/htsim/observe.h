// Counters of a running simulation. Queues and marks are observed in a separate run, because that
// costs a tenth of the speed.
#pragma once

#include "../common/report.h"

#include "config.h"
#include "eventlist.h"
#include "network.h"

struct Observed
{
    simtime_picosec from = 0;
    simtime_picosec until = UINT64_MAX;
    uint64_t hops = 0;
    uint64_t dataEnqueued = 0;
    uint64_t dataMarked = 0;
    uint64_t bytesDelivered = 0;
    uint32_t finished = 0;
};

inline Observed g_seen;

inline bool
IsObservedNow()
{
    simtime_picosec now = EventList::now();
    return g_seen.from <= now && now < g_seen.until;
}

// A SYN has a single byte in htsim, and an ACK forty.
inline bool
IsData(const Packet& packet)
{
    return packet.size() == Packet::data_packet_size();
}

// Follows the queue of a port.
class Observer : public QueueLogger
{
  public:
    void logQueue(BaseQueue&, QueueEvent event, Packet& packet) override
    {
        switch (event)
        {
        case PKT_ENQUEUE:
            Integrate();
            ++m_held;
            g_seen.dataEnqueued += IsData(packet) && IsObservedNow();
            break;
        case PKT_SERVICE:
            Integrate();
            --m_held;
            break;
        default:
            break;
        }
    }

    // Adds the part of the time since the last change that is in the window.
    void Integrate()
    {
        simtime_picosec now = EventList::now();
        simtime_picosec begin = std::max(m_since, g_seen.from);
        simtime_picosec end = std::min(now, g_seen.until);
        if (begin < end)
        {
            // The packet on the wire is in the queue, but does not wait.
            waiting.Add(m_held > 0 ? m_held - 1 : 0, timeAsSec(end - begin));
        }
        m_since = now;
    }

    Waiting waiting;

  private:
    uint32_t m_held = 0;
    simtime_picosec m_since = 0;
};
