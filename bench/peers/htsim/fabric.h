// The fabric: hosts, ports that mark, the links between them, and the route of each packet.
#pragma once

#include "observe.h"

#include "ecnqueue.h"
#include "pipe.h"

#include <limits>
#include <memory>

// A link that counts arrivals at its far end.
class Link : public Pipe
{
  public:
    using Pipe::Pipe;

    void doNextEvent() override
    {
        ++g_seen.hops;
        Pipe::doNextEvent();
    }
};

// A queue, and the link that it sends to. htsim has neither hosts nor switches: a route names both.
struct Port
{
    std::unique_ptr<ECNQueue> queue;
    std::unique_ptr<Link> link;
    std::unique_ptr<Observer> observer;
};

class Fabric
{
  public:
    Fabric(const Options& options, EventList& events, bool isObserved)
        : m_events(events),
          m_rate(speedFromGbps(options.Number("rate-gbps", 1e-3, 1e3))),
          m_delay(timeFromUs(options.Number("delay-us", 0, 1e6))),
          // A packet is marked as it leaves, and the compared length includes it.
          m_threshold(memFromPkt(options.Count("threshold-packets", 1, 1'000'000))),
          // The packet on the wire is in the queue.
          m_limit(memFromPkt(options.Count("buffer-packets", 1, 1'000'000) + 1.0)),
          m_isObserved(isObserved)
    {
        bool isStar = options.IsStar();
        uint32_t hosts = options.Hosts();
        m_hostsPerLeaf = isStar ? hosts : options.Count("hosts-per-leaf", 1, 10'000);
        m_spines = options.Spines();
        for (uint32_t host = 0; host < hosts; ++host)
        {
            m_fromHost.push_back(HostPort());
            m_toHost.push_back(SwitchPort());
        }
        for (uint32_t i = 0; i < m_spines * (isStar ? 0 : hosts / m_hostsPerLeaf); ++i)
        {
            m_toSpine.push_back(SwitchPort());
            m_fromSpine.push_back(SwitchPort());
        }
    }

    // The route between two hosts, through a spine if they are at different leaves.
    std::unique_ptr<Route> Way(uint32_t source, uint32_t destination, uint32_t spine, PacketSink& end)
    {
        auto route = std::make_unique<Route>();
        auto add = [&](Port& port) {
            route->push_back(port.queue.get());
            route->push_back(port.link.get());
        };
        uint32_t from = source / m_hostsPerLeaf;
        uint32_t to = destination / m_hostsPerLeaf;
        add(m_fromHost[source]);
        if (from != to)
        {
            add(m_toSpine[from * m_spines + spine]);
            add(m_fromSpine[to * m_spines + spine]);
        }
        add(m_toHost[destination]);
        route->push_back(&end);
        return route;
    }

    Port& PortTo(uint32_t host)
    {
        return m_toHost[host];
    }

    std::vector<Port*> SwitchPorts()
    {
        std::vector<Port*> ports;
        for (std::vector<Port>* some : {&m_toHost, &m_toSpine, &m_fromSpine})
        {
            for (Port& port : *some)
            {
                ports.push_back(&port);
            }
        }
        return ports;
    }

  private:
    // A host's queue is as long as its window needs, and never marks.
    Port HostPort()
    {
        mem_b unlimited = std::numeric_limits<mem_b>::max() / 2;
        return PortOf(unlimited, unlimited, nullptr);
    }

    Port SwitchPort()
    {
        return PortOf(m_limit, m_threshold, m_isObserved ? std::make_unique<Observer>() : nullptr);
    }

    Port PortOf(mem_b limit, mem_b threshold, std::unique_ptr<Observer> observer)
    {
        Port port;
        port.queue =
            std::make_unique<ECNQueue>(m_rate, limit, m_events, observer.get(), threshold);
        port.link = std::make_unique<Link>(m_delay, m_events);
        port.observer = std::move(observer);
        return port;
    }

    EventList& m_events;
    linkspeed_bps m_rate;
    simtime_picosec m_delay;
    mem_b m_threshold;
    mem_b m_limit;
    bool m_isObserved;
    uint32_t m_hostsPerLeaf;
    uint32_t m_spines;
    std::vector<Port> m_fromHost;
    std::vector<Port> m_toHost;
    // By leaf and spine.
    std::vector<Port> m_toSpine;
    std::vector<Port> m_fromSpine;
};
