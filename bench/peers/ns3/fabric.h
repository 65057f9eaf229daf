// The fabric: hosts, switches that mark, the links between them, and the route of each packet.
#pragma once

#include "observe.h"

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/point-to-point-module.h"

#include <memory>

// Senders use the ports from this one on, one per flow; all receivers listen on the port below it.
constexpr uint16_t FIRST_PORT = 1024;
constexpr uint16_t LISTENING_PORT = FIRST_PORT - 1;

constexpr uint32_t NETWORK = 0x0a000000;

inline Ipv4Address
AddressOf(uint32_t host)
{
    return Ipv4Address(NETWORK + host + 1);
}

inline uint32_t
HostOf(Ipv4Address address)
{
    return address.Get() - NETWORK - 1;
}

inline std::vector<Flow> g_flows;
// By sending host, the flows in the order of their ports.
inline std::vector<std::vector<uint32_t>> g_flowsOfHost;

inline Flow&
FlowOf(Ipv4Address sender, uint16_t port)
{
    return g_flows[g_flowsOfHost[HostOf(sender)][port - FIRST_PORT]];
}

// The flow of a packet, and whether the packet goes to its receiver.
inline std::pair<const Flow*, bool>
FlowOf(Ptr<const Packet> packet, const Ipv4Header& header)
{
    uint8_t ports[4];
    packet->CopyData(ports, sizeof(ports));
    uint16_t from = ports[0] << 8 | ports[1];
    uint16_t to = ports[2] << 8 | ports[3];
    return to == LISTENING_PORT ? std::pair(&FlowOf(header.GetSource(), from), true)
                                : std::pair(&FlowOf(header.GetDestination(), to), false);
}

// The queue of a packet, where there are several.
constexpr uint32_t QUEUES = 8;

class ByFlow : public PacketFilter
{
  private:
    bool CheckProtocol(Ptr<QueueDiscItem>) const override
    {
        return true;
    }

    int32_t DoClassify(Ptr<QueueDiscItem> item) const override
    {
        auto ipv4 = static_cast<const Ipv4QueueDiscItem*>(PeekPointer(item));
        return FlowOf(item->GetPacket(), ipv4->GetHeader()).first->place % QUEUES;
    }
};

// Routes in constant time and without allocation: hosts have one link, and a switch knows its port
// by destination, or by the spine of the flow. ns-3 itself has no ECMP per flow.
class FixedPath : public Ipv4RoutingProtocol
{
  public:
    // The links in the order in which they were added.
    std::vector<Ptr<Ipv4Route>> links;
    // For a switch: of the hosts from `firstBelow` on, link i leads to those from
    // i * hostsPerLink on; other destinations leave by link `linksBelow` + spine.
    uint32_t firstBelow = 0;
    uint32_t hostsPerLink = 1;
    uint32_t linksBelow = 0;
    bool isHost = false;

    Ptr<Ipv4Route> RouteOutput(Ptr<Packet>,
                               const Ipv4Header&,
                               Ptr<NetDevice>,
                               Socket::SocketErrno& error) override
    {
        error = Socket::ERROR_NOTERROR;
        return links[0];
    }

    bool RouteInput(Ptr<const Packet> packet,
                    const Ipv4Header& header,
                    Ptr<const NetDevice>,
                    UnicastForwardCallback forward,
                    MulticastForwardCallback,
                    LocalDeliverCallback deliver,
                    ErrorCallback) override
    {
        if (isHost)
        {
            deliver(packet, header, 1);
            return true;
        }
        uint32_t link = (HostOf(header.GetDestination()) - firstBelow) / hostsPerLink;
        if (link >= linksBelow)
        {
            link = linksBelow + SpineOf(packet, header);
        }
        forward(links[link], packet, header);
        return true;
    }

    void NotifyInterfaceUp(uint32_t) override
    {
    }

    void NotifyInterfaceDown(uint32_t) override
    {
    }

    void NotifyAddAddress(uint32_t, Ipv4InterfaceAddress) override
    {
    }

    void NotifyRemoveAddress(uint32_t, Ipv4InterfaceAddress) override
    {
    }

    void SetIpv4(Ptr<Ipv4>) override
    {
    }

    void PrintRoutingTable(Ptr<OutputStreamWrapper>, Time::Unit) const override
    {
    }

  private:
    static uint32_t SpineOf(Ptr<const Packet> packet, const Ipv4Header& header)
    {
        auto [flow, isToReceiver] = FlowOf(packet, header);
        return isToReceiver ? flow->spine : flow->ack_spine;
    }
};

inline bool
HasTcn(const Options& options)
{
    return options.Is("switch", "tcn", "red");
}

class Fabric
{
  public:
    explicit Fabric(const Options& options)
        : m_options(options),
          m_rate(DataRate(options.Number("rate-gbps", 1e-3, 1e3) * 1e9))
    {
        if (HasTcn(options))
        {
            MarkByTime();
        }
        else
        {
            MarkByLength();
        }
        // A device queue of one packet: the default of 100 would hide the queue from RED.
        m_wires.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1p"));
        m_wires.SetDeviceAttribute("DataRate", DataRateValue(m_rate));
        // Room for the timestamps, which ns-3 adds to full segments and would fragment.
        m_wires.SetDeviceAttribute("Mtu", UintegerValue(options.Mss() + 52));
        double delay = options.Number("delay-us", 0, 1e6);
        m_wires.SetChannelAttribute("Delay", TimeValue(Seconds(delay * 1e-6)));
        m_stack.SetIpv6StackInstall(false);

        if (options.IsStar())
        {
            BuildSwitch(0, options.Hosts());
        }
        else
        {
            BuildLeafSpine();
        }
    }

    std::vector<Ptr<Node>> hosts;
    std::vector<std::unique_ptr<Port>> ports;
    // Switch port that leads to each host.
    std::vector<Port*> portTo;

  private:
    void MarkByLength()
    {
        bool inBytes = m_options.Is("unit", "bytes", "packets");
        uint32_t unit = inBytes ? m_options.Mss() + 40 : 1;
        // One packet waits in the device, where RED does not see it, whenever the disc holds any.
        double threshold = (m_options.Count("threshold-packets", 2, 1'000'000) - 1.0) * unit;
        uint64_t limit = m_options.Count("buffer-packets", 2, 1'000'000) - 1;
        std::string size = std::to_string(limit * unit) + (inBytes ? "B" : "p");
        m_marking.SetRootQueueDisc("ns3::RedQueueDisc",
                                   "MinTh", DoubleValue(threshold),
                                   "MaxTh", DoubleValue(threshold),
                                   "MaxSize", StringValue(size),
                                   "QW", DoubleValue(1),
                                   "Gentle", BooleanValue(false),
                                   "UseEcn", BooleanValue(true),
                                   "UseHardDrop", BooleanValue(false),
                                   "MeanPktSize", UintegerValue(1500),
                                   "LinkBandwidth", DataRateValue(m_rate));
    }

    // ns-3's closest match to TCN under DWRR: FQ-CoDel serves queues in turn by a deficit in bytes
    // and marks packets that waited longer than its CE threshold. CoDel itself never marks.
    void MarkByTime()
    {
        uint32_t full = m_options.Mss() + 42;
        // One packet waits in the device, after the time that the disc sees.
        uint32_t ahead = m_options.Count("threshold-packets", 2, 10'000) - 1;
        Time threshold = m_rate.CalculateBytesTxTime(full * ahead);
        uint64_t limit = m_options.Count("pool-packets", 2, 1'000'000) - 1;
        std::string size = std::to_string(limit) + "p";
        Config::SetDefault("ns3::CoDelQueueDisc::MaxSize", StringValue(size));
        m_marking.SetRootQueueDisc("ns3::FqCoDelQueueDisc",
                                   "Flows", UintegerValue(QUEUES),
                                   "MaxSize", StringValue(size),
                                   "UseEcn", BooleanValue(true),
                                   "CeThreshold", TimeValue(threshold),
                                   "Target", StringValue("1000s"),
                                   "Interval", StringValue("2000s"));
    }

    struct Machine
    {
        Ptr<Node> node;
        Ptr<FixedPath> path;
    };

    Machine Build()
    {
        Machine machine{CreateObject<Node>(), CreateObject<FixedPath>()};
        m_stack.Install(machine.node);
        machine.node->GetObject<Ipv4>()->SetRoutingProtocol(machine.path);
        return machine;
    }

    // A switch with this many hosts, the first of which is `first`.
    Machine BuildSwitch(uint32_t first, uint32_t count)
    {
        Machine hub = Build();
        hub.path->firstBelow = first;
        hub.path->linksBelow = count;
        for (uint32_t i = 0; i < count; ++i)
        {
            Machine host = Build();
            host.path->isHost = true;
            NetDeviceContainer ends = m_wires.Install(host.node, hub.node);
            AddHostEnd(host, ends.Get(0), first + i);
            portTo.push_back(AddSwitchEnd(hub, ends.Get(1), &OnHopFromHost));
            hosts.push_back(host.node);
        }
        return hub;
    }

    void BuildLeafSpine()
    {
        uint32_t perLeaf = m_options.Count("hosts-per-leaf", 1, 10'000);
        std::vector<Machine> spines(m_options.Spines());
        std::vector<Machine> leaves(m_options.Count("leaves", 1, 1000));
        for (uint32_t i = 0; i < leaves.size(); ++i)
        {
            leaves[i] = BuildSwitch(i * perLeaf, perLeaf);
        }
        for (Machine& spine : spines)
        {
            spine = Build();
            spine.path->hostsPerLink = perLeaf;
            spine.path->linksBelow = leaves.size();
            for (Machine& leaf : leaves)
            {
                NetDeviceContainer ends = m_wires.Install(leaf.node, spine.node);
                AddSwitchEnd(leaf, ends.Get(0), &OnHop);
                AddSwitchEnd(spine, ends.Get(1), &OnHop);
            }
        }
    }

    // Adds the interface by hand, because the address helper would install FqCoDel.
    static void AddInterface(const Machine& machine, Ptr<NetDevice> device, Ipv4Address address)
    {
        Ptr<Ipv4> ipv4 = machine.node->GetObject<Ipv4>();
        uint32_t interface = ipv4->AddInterface(device);
        if (address != Ipv4Address::GetAny())
        {
            ipv4->AddAddress(interface, Ipv4InterfaceAddress(address, Ipv4Mask::GetOnes()));
        }
        ipv4->SetUp(interface);
        Ptr<Ipv4Route> route = Create<Ipv4Route>();
        route->SetSource(address);
        route->SetGateway(Ipv4Address::GetZero());
        route->SetOutputDevice(device);
        machine.path->links.push_back(route);
    }

    // A host's queue is as long as its window needs: the sender never loses a packet to itself.
    static void AddHostEnd(const Machine& host, Ptr<NetDevice> device, uint32_t index)
    {
        AddInterface(host, device, AddressOf(index));
        Ptr<Queue<Packet>> queue = DynamicCast<PointToPointNetDevice>(device)->GetQueue();
        queue->SetMaxSize(QueueSize("10000000p"));
        queue->TraceConnectWithoutContext("Drop", MakeCallback(&OnDeviceDrop));
        device->TraceConnectWithoutContext("PhyRxEnd", MakeCallback(&OnHopToHost));
    }

    Port* AddSwitchEnd(const Machine& hub, Ptr<NetDevice> device, void (*onHop)(Ptr<const Packet>))
    {
        AddInterface(hub, device, Ipv4Address::GetAny());
        ports.push_back(std::make_unique<Port>());
        Port* port = ports.back().get();
        Ptr<QueueDisc> disc = m_marking.Install(device).Get(0);
        if (HasTcn(m_options))
        {
            disc->AddPacketFilter(CreateObject<ByFlow>());
        }
        disc->TraceConnectWithoutContext("PacketsInQueue", MakeBoundCallback(&OnDiscLength, port));
        disc->TraceConnectWithoutContext("Enqueue", MakeCallback(&OnEnqueue));
        disc->TraceConnectWithoutContext("Drop", MakeCallback(&OnDrop));
        Ptr<Queue<Packet>> queue = DynamicCast<PointToPointNetDevice>(device)->GetQueue();
        queue->TraceConnectWithoutContext("PacketsInQueue",
                                          MakeBoundCallback(&OnDeviceLength, port));
        queue->TraceConnectWithoutContext("Drop", MakeCallback(&OnDeviceDrop));
        device->TraceConnectWithoutContext("PhyRxEnd", MakeCallback(onHop));
        return port;
    }

    const Options& m_options;
    DataRate m_rate;
    PointToPointHelper m_wires;
    TrafficControlHelper m_marking;
    InternetStackHelper m_stack;
};
