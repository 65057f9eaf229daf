// Counters of a running simulation, in callbacks of ns-3's trace sources.
#pragma once

#include "../common/report.h"

#include "ns3/network-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

// IPv4 and TCP headers at their largest: longer IP packets carry data.
constexpr uint32_t LONGEST_EMPTY_PACKET = 80;

struct Port
{
    uint32_t waitingInDisc = 0;
    uint32_t waitingInDevice = 0;
    Time since;
    Waiting waiting;
};

struct Observed
{
    Time from;
    Time until = Time::Max();
    uint64_t hops = 0;
    uint64_t dataSent = 0;
    uint64_t dataEnqueued = 0;
    uint64_t dataMarked = 0;
    uint64_t drops = 0;
    uint64_t bytesDelivered = 0;
    uint32_t finished = 0;
};

inline Observed g_seen;

inline bool
IsObservedNow()
{
    Time now = Simulator::Now();
    return g_seen.from <= now && now < g_seen.until;
}

// Adds the part of the time since the last change that is in the window.
inline void
Integrate(Port* port)
{
    Time now = Simulator::Now();
    Time begin = std::max(port->since, g_seen.from);
    Time end = std::min(now, g_seen.until);
    if (begin < end)
    {
        port->waiting.Add(port->waitingInDisc + port->waitingInDevice, (end - begin).GetSeconds());
    }
    port->since = now;
}

inline void
OnDiscLength(Port* port, uint32_t, uint32_t packets)
{
    Integrate(port);
    port->waitingInDisc = packets;
}

inline void
OnDeviceLength(Port* port, uint32_t, uint32_t packets)
{
    Integrate(port);
    port->waitingInDevice = packets;
}

inline void
OnEnqueue(Ptr<const QueueDiscItem> item)
{
    g_seen.dataEnqueued += item->GetSize() > LONGEST_EMPTY_PACKET && IsObservedNow();
}

inline void
OnDrop(Ptr<const QueueDiscItem>)
{
    ++g_seen.drops;
}

inline void
OnDeviceDrop(Ptr<const Packet>)
{
    ++g_seen.drops;
}

inline void
OnHop(Ptr<const Packet>)
{
    ++g_seen.hops;
}

// The last hop, where marks are counted: RED's own count has a packet again at every port that
// would have marked it. The header begins after the two bytes of the point-to-point header, and
// its second byte ends with the ECN field.
inline void
OnHopToHost(Ptr<const Packet> packet)
{
    ++g_seen.hops;
    if (packet->GetSize() > LONGEST_EMPTY_PACKET + 2 && IsObservedNow())
    {
        uint8_t begin[4];
        packet->CopyData(begin, sizeof(begin));
        g_seen.dataMarked += (begin[3] & 3) == 3;
    }
}

// The first hop. The packet still has the two bytes of the point-to-point header.
inline void
OnHopFromHost(Ptr<const Packet> packet)
{
    ++g_seen.hops;
    g_seen.dataSent += packet->GetSize() > LONGEST_EMPTY_PACKET + 2;
}
