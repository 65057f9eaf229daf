// A peer for Tidegate's simulator: the same scenario in ns-3.37, with the best settings we know.
// README.md beside the parent folder's script says what is measured and where the models differ.

#include "options.h"

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <algorithm>
#include <iomanip>
#include <numeric>
#include <sys/resource.h>

using namespace ns3;

namespace
{

// Senders use the ports from here on, one per flow; all receivers listen on the port below it.
constexpr uint16_t FIRST_PORT = 1024;
constexpr uint16_t LISTENING_PORT = FIRST_PORT - 1;

// IPv4 and TCP headers at their largest: what is longer on the IP layer carries data.
constexpr uint32_t LONGEST_EMPTY_PACKET = 80;

constexpr uint32_t NETWORK = 0x0a000000;

Ipv4Address
AddressOf(uint32_t host)
{
    return Ipv4Address(NETWORK + host + 1);
}

uint32_t
HostOf(Ipv4Address address)
{
    return address.Get() - NETWORK - 1;
}

std::vector<Flow> g_flows;
// By sending host, the flows in the order of their ports.
std::vector<std::vector<uint32_t>> g_flowsOfHost;

Flow&
FlowOf(Ipv4Address sender, uint16_t port)
{
    return g_flows[g_flowsOfHost[HostOf(sender)][port - FIRST_PORT]];
}

// ---------------------------------------------------------------- what is observed

struct Port
{
    uint32_t waitingInDisc = 0;
    uint32_t waitingInDevice = 0;
    uint32_t most = 0;
    Time since;
    double packetSeconds = 0;
    double squareSeconds = 0;
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

Observed g_seen;

bool
IsObservedNow()
{
    Time now = Simulator::Now();
    return g_seen.from <= now && now < g_seen.until;
}

// Adds the time since the last change, as far as it lies in the window.
void
Integrate(Port* port)
{
    Time now = Simulator::Now();
    Time begin = std::max(port->since, g_seen.from);
    Time end = std::min(now, g_seen.until);
    if (begin < end)
    {
        double waiting = port->waitingInDisc + port->waitingInDevice;
        double seconds = (end - begin).GetSeconds();
        port->packetSeconds += waiting * seconds;
        port->squareSeconds += waiting * waiting * seconds;
        port->most = std::max(port->most, port->waitingInDisc + port->waitingInDevice);
    }
    port->since = now;
}

void
OnDiscLength(Port* port, uint32_t, uint32_t packets)
{
    Integrate(port);
    port->waitingInDisc = packets;
}

void
OnDeviceLength(Port* port, uint32_t, uint32_t packets)
{
    Integrate(port);
    port->waitingInDevice = packets;
}

void
OnEnqueue(Ptr<const QueueDiscItem> item)
{
    g_seen.dataEnqueued += item->GetSize() > LONGEST_EMPTY_PACKET && IsObservedNow();
}

void
OnMark(Ptr<const QueueDiscItem> item, const char*)
{
    g_seen.dataMarked += item->GetSize() > LONGEST_EMPTY_PACKET && IsObservedNow();
}

void
OnDrop(Ptr<const QueueDiscItem>)
{
    ++g_seen.drops;
}

void
OnDeviceDrop(Ptr<const Packet>)
{
    ++g_seen.drops;
}

void
OnHop(Ptr<const Packet>)
{
    ++g_seen.hops;
}

// The first hop. The packet still has the two bytes of the point-to-point header.
void
OnHopFromHost(Ptr<const Packet> packet)
{
    ++g_seen.hops;
    g_seen.dataSent += packet->GetSize() > LONGEST_EMPTY_PACKET + 2;
}

// ---------------------------------------------------------------- the way of a packet

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
        uint8_t ports[4];
        packet->CopyData(ports, sizeof(ports));
        uint16_t from = ports[0] << 8 | ports[1];
        uint16_t to = ports[2] << 8 | ports[3];
        return to == LISTENING_PORT ? FlowOf(header.GetSource(), from).spine
                                    : FlowOf(header.GetDestination(), to).ack_spine;
    }
};

class Fabric
{
  public:
    explicit Fabric(const Options& options)
        : m_options(options),
          m_rate(DataRate(options.Number("rate-gbps", 1e-3, 1e3) * 1e9)),
          m_isStar(options.Is("scenario", "star", "leaf-spine"))
    {
        uint32_t limit = options.Count("buffer-packets", 1, 10'000'000);
        uint32_t threshold = options.Count("threshold-packets", 2, 1'000'000);
        bool inBytes = options.Is("threshold-unit", "bytes", "packets");
        uint32_t unit = inBytes ? options.Count("mss", 1, 60'000) + 40 : 1;
        // One packet waits in the device, where RED does not see it, whenever the disc holds any.
        double inDisc = static_cast<double>(threshold - 1) * unit;
        std::string size = std::to_string(static_cast<uint64_t>(limit) * unit);
        m_marking.SetRootQueueDisc("ns3::RedQueueDisc",
                                   "MinTh", DoubleValue(inDisc),
                                   "MaxTh", DoubleValue(inDisc),
                                   "MaxSize", StringValue(size + (inBytes ? "B" : "p")),
                                   "QW", DoubleValue(1),
                                   "Gentle", BooleanValue(false),
                                   "UseEcn", BooleanValue(true),
                                   "UseHardDrop", BooleanValue(false),
                                   "MeanPktSize", UintegerValue(1500),
                                   "LinkBandwidth", DataRateValue(m_rate));
        // A device queue of one packet: the default of 100 would hide the queue from RED.
        m_wires.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1p"));
        m_wires.SetDeviceAttribute("DataRate", DataRateValue(m_rate));
        uint32_t packet = options.Count("mss", 1, 60'000) + 52;
        m_wires.SetDeviceAttribute("Mtu", UintegerValue(std::max(packet, 1500U)));
        double delay = options.Number("delay-us", 0, 1e6);
        m_wires.SetChannelAttribute("Delay", TimeValue(Seconds(delay * 1e-6)));
        m_stack.SetIpv6StackInstall(false);

        if (m_isStar)
        {
            BuildSwitch(0, options.Count("hosts", 2, 60'000));
        }
        else
        {
            BuildLeafSpine();
        }
    }

    std::vector<Ptr<Node>> hosts;
    std::vector<std::unique_ptr<Port>> ports;
    // By host, the switch port that leads to it.
    std::vector<Port*> portTo;

  private:
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

    // A switch with so many hosts, the first of which is `first`.
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
        std::vector<Machine> spines(m_options.Count("spines", 1, 1000));
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
        device->TraceConnectWithoutContext("PhyRxEnd", MakeCallback(&OnHop));
    }

    Port* AddSwitchEnd(const Machine& hub, Ptr<NetDevice> device, void (*onHop)(Ptr<const Packet>))
    {
        AddInterface(hub, device, Ipv4Address::GetAny());
        ports.push_back(std::make_unique<Port>());
        Port* port = ports.back().get();
        Ptr<QueueDisc> disc = m_marking.Install(device).Get(0);
        disc->TraceConnectWithoutContext("PacketsInQueue", MakeBoundCallback(&OnDiscLength, port));
        disc->TraceConnectWithoutContext("Enqueue", MakeCallback(&OnEnqueue));
        disc->TraceConnectWithoutContext("Mark", MakeCallback(&OnMark));
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
    bool m_isStar;
    PointToPointHelper m_wires;
    TrafficControlHelper m_marking;
    InternetStackHelper m_stack;
};

// ---------------------------------------------------------------- flows

void
OnData(Flow* flow, Ptr<Socket> socket)
{
    while (Ptr<Packet> packet = socket->Recv())
    {
        if (packet->GetSize() == 0)
        {
            return;
        }
        flow->received += packet->GetSize();
        g_seen.bytesDelivered += IsObservedNow() ? packet->GetSize() : 0;
    }
    if (flow->received == flow->bytes && flow->fct_s < 0)
    {
        flow->fct_s = (Simulator::Now() - Seconds(flow->start_s)).GetSeconds();
        if (++g_seen.finished == g_flows.size())
        {
            Simulator::Stop();
        }
    }
}

void
CloseToo(Ptr<Socket> socket)
{
    socket->Close();
}

void
OnAccept(Ptr<Socket> socket, const Address& from)
{
    InetSocketAddress peer = InetSocketAddress::ConvertFrom(from);
    Flow* flow = &FlowOf(peer.GetIpv4(), peer.GetPort());
    socket->SetRecvCallback(MakeBoundCallback(&OnData, flow));
    socket->SetCloseCallbacks(MakeCallback(&CloseToo), MakeCallback(&CloseToo));
}

// Connects, writes the flow in one piece and closes, like a client that knows what it has to say.
void
Start(Ptr<Node> node, const Flow& flow)
{
    Ptr<Socket> socket = Socket::CreateSocket(node, TcpSocketFactory::GetTypeId());
    InetSocketAddress own(AddressOf(flow.source), flow.port);
    InetSocketAddress peer(AddressOf(flow.destination), LISTENING_PORT);
    bool isSent = socket->Bind(own) == 0 && socket->Connect(peer) == 0 &&
                  socket->Send(Create<Packet>(flow.bytes)) == static_cast<int>(flow.bytes) &&
                  socket->Close() == 0;
    NS_ABORT_MSG_UNLESS(isSent, "flow " << flow.id << " could not be started");
}

// Starts what is due and sleeps until the next, so that the event list holds one start only.
void
StartNext(const std::vector<Ptr<Node>>* hosts, const std::vector<uint32_t>* order, size_t place)
{
    for (; place < order->size(); ++place)
    {
        const Flow& flow = g_flows[(*order)[place]];
        Time wait = Seconds(flow.start_s) - Simulator::Now();
        if (wait.IsStrictlyPositive())
        {
            Simulator::Schedule(wait, &StartNext, hosts, order, place);
            return;
        }
        Start((*hosts)[flow.source], flow);
    }
}

void
Listen(Ptr<Node> node)
{
    Ptr<Socket> socket = Socket::CreateSocket(node, TcpSocketFactory::GetTypeId());
    socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), LISTENING_PORT));
    socket->Listen();
    socket->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                              MakeCallback(&OnAccept));
}

void
SetTransport(const Options& options)
{
    uint32_t largest = 0;
    for (const Flow& flow : g_flows)
    {
        largest = std::max(largest, flow.bytes);
    }
    Time rto = MilliSeconds(options.Count("min-rto-ms", 1, 100'000));
    auto set = [](const std::string& name, const AttributeValue& value) {
        Config::SetDefault("ns3::" + name, value);
    };
    set("TcpL4Protocol::SocketType", TypeIdValue(TcpDctcp::GetTypeId()));
    set("TcpL4Protocol::RecoveryType", TypeIdValue(TcpPrrRecovery::GetTypeId()));
    set("TcpSocket::SegmentSize", UintegerValue(options.Count("mss", 1, 60'000)));
    set("TcpSocket::InitialCwnd", UintegerValue(options.Count("initial-window", 1, 10'000)));
    set("TcpSocket::DelAckCount", UintegerValue(1));
    set("TcpSocket::SndBufSize", UintegerValue(largest));
    set("TcpSocket::RcvBufSize", UintegerValue(16 << 20));
    // A lost SYN waits no longer than lost data; a flow is never given up.
    set("TcpSocket::ConnTimeout", TimeValue(rto));
    set("TcpSocket::ConnCount", UintegerValue(20));
    set("TcpSocket::DataRetries", UintegerValue(1'000'000));
    set("TcpSocketBase::MinRto", TimeValue(rto));
    set("TcpSocketBase::Sack", BooleanValue(true));
    set("TcpSocketBase::Timestamp", BooleanValue(options.Is("timestamps", "on", "off")));
    // ns-3 searches a list of all connections of a host for each packet: finished ones must not
    // stay there for the default of four minutes.
    set("TcpSocketBase::MaxSegLifetime", DoubleValue(1e-3));
}

// ---------------------------------------------------------------- the report

double
CpuSeconds()
{
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    auto seconds = [](const timeval& time) { return time.tv_sec + time.tv_usec * 1e-6; };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

long
PeakMemoryKib()
{
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

void
WriteFcts(const std::string& path)
{
    std::ofstream file(path);
    file << "id,fct_s\n" << std::setprecision(12);
    for (const Flow& flow : g_flows)
    {
        file << flow.id << ',';
        if (flow.fct_s >= 0)
        {
            file << flow.fct_s;
        }
        file << '\n';
    }
    if (!file.flush())
    {
        Refuse("cannot write --fct-out '" + path + "'");
    }
}

// Data segments that it takes to send every flow once, as far as they count as data.
uint64_t
SegmentsOfAllFlows(uint32_t mss)
{
    uint64_t segments = 0;
    for (const Flow& flow : g_flows)
    {
        segments += flow.bytes / mss + (flow.bytes % mss > LONGEST_EMPTY_PACKET - 40);
    }
    return segments;
}

void
Report(const Options& options, Fabric& fabric, double cpuSeconds)
{
    bool isStar = options.Is("scenario", "star", "leaf-spine");
    double window = (std::min(Simulator::Now(), g_seen.until) - g_seen.from).GetSeconds();
    std::vector<Port*> averaged;
    if (isStar)
    {
        averaged.push_back(fabric.portTo[g_flows[0].destination]);
    }
    else
    {
        for (const auto& port : fabric.ports)
        {
            averaged.push_back(port.get());
        }
    }
    double packetSeconds = 0;
    double squareSeconds = 0;
    uint32_t most = 0;
    for (Port* port : averaged)
    {
        Integrate(port);
        packetSeconds += port->packetSeconds;
        squareSeconds += port->squareSeconds;
        most = std::max(most, port->most);
    }
    double portSeconds = window * averaged.size();
    double mean = packetSeconds / portSeconds;
    double deviation = std::sqrt(std::max(0.0, squareSeconds / portSeconds - mean * mean));

    std::vector<double> fcts;
    for (const Flow& flow : g_flows)
    {
        if (flow.fct_s >= 0)
        {
            fcts.push_back(flow.fct_s);
        }
    }
    std::sort(fcts.begin(), fcts.end());
    auto at = [&](double share) {
        return fcts.empty() ? 0.0 : fcts[std::min<size_t>(fcts.size() * share, fcts.size() - 1)];
    };
    double total = std::accumulate(fcts.begin(), fcts.end(), 0.0);
    bool isComplete = fcts.size() == g_flows.size();
    uint64_t sent = g_seen.dataSent;
    uint64_t once = SegmentsOfAllFlows(options.Count("mss", 1, 60'000));

    auto ratio = [](double a, double b) { return b > 0 ? a / b : 0.0; };
    std::cout << std::setprecision(9) << "{\"simulator\":\"ns-3.37\",\"scenario\":\""
              << options.Text("scenario") << "\",\"packet_hops\":" << g_seen.hops
              << ",\"cpu_seconds\":" << cpuSeconds
              << ",\"packet_hops_per_cpu_second\":" << ratio(g_seen.hops, cpuSeconds)
              << ",\"sim_seconds\":" << Simulator::Now().GetSeconds()
              << ",\"window_from_s\":" << g_seen.from.GetSeconds() << ",\"window_s\":" << window
              << ",\"mean_queue_packets\":" << mean << ",\"sd_queue_packets\":" << deviation
              << ",\"max_queue_packets\":" << most
              << ",\"mark_fraction\":" << ratio(g_seen.dataMarked, g_seen.dataEnqueued)
              << ",\"data_packets_marked\":" << g_seen.dataMarked
              << ",\"data_packets_enqueued\":" << g_seen.dataEnqueued
              << ",\"goodput_gbps\":" << ratio(g_seen.bytesDelivered * 8e-9, window)
              << ",\"flows\":" << g_flows.size() << ",\"flows_finished\":" << fcts.size()
              << ",\"fct_definition\":\"connect to last byte at the receiving application\""
              << ",\"fct_mean_s\":" << ratio(total, fcts.size()) << ",\"fct_p50_s\":" << at(0.5)
              << ",\"fct_p99_s\":" << at(0.99) << ",\"drops\":" << g_seen.drops
              << ",\"retransmissions\":";
    // Known only if every flow was sent to its end.
    if (isComplete && sent >= once)
    {
        std::cout << sent - once;
    }
    else
    {
        std::cout << "null";
    }
    std::cout << ",\"peak_memory_kib\":" << PeakMemoryKib() << "}\n";
}

} // namespace

int
main(int count, char** arguments)
{
    // 1502 bytes at 10 Gb/s take 1201.6 ns, which the default of nanoseconds would cut.
    Time::SetResolution(Time::PS);
    Options options(count, arguments);
    bool isStar = options.Is("scenario", "star", "leaf-spine");
    uint32_t spines = isStar ? 1 : options.Count("spines", 1, 1000);
    uint32_t hosts = isStar ? options.Count("hosts", 2, 60'000)
                            : options.Count("leaves", 1, 1000) *
                                  options.Count("hosts-per-leaf", 1, 10'000);
    g_flows = ReadFlows(options.Text("flows"), hosts, spines);
    g_flowsOfHost.resize(hosts);
    for (uint32_t i = 0; i < g_flows.size(); ++i)
    {
        std::vector<uint32_t>& own = g_flowsOfHost[g_flows[i].source];
        if (own.size() >= 64'000)
        {
            Refuse("more than 64000 flows start at host " + std::to_string(g_flows[i].source));
        }
        g_flows[i].port = FIRST_PORT + own.size();
        own.push_back(i);
    }
    g_seen.from = Seconds(options.Number("from-s", 0, 1e6));
    if (double until = options.Number("until-s", 0, 1e6))
    {
        g_seen.until = Seconds(until);
    }

    SetTransport(options);
    ObjectFactory scheduler(options.Text("scheduler"));
    Simulator::SetScheduler(scheduler);
    Fabric fabric(options);
    std::vector<bool> listens(hosts);
    for (const Flow& flow : g_flows)
    {
        if (!listens[flow.destination])
        {
            listens[flow.destination] = true;
            Listen(fabric.hosts[flow.destination]);
        }
    }
    std::vector<uint32_t> order(g_flows.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [](uint32_t a, uint32_t b) {
        return g_flows[a].start_s < g_flows[b].start_s;
    });
    Simulator::Schedule(Time(0), &StartNext, &fabric.hosts, &order, size_t{0});
    Simulator::Stop(Seconds(options.Number("time-limit-s", 1e-6, 1e6)));

    double before = CpuSeconds();
    Simulator::Run();
    double cpuSeconds = CpuSeconds() - before;

    Report(options, fabric, cpuSeconds);
    if (!options.Text("fct-out").empty())
    {
        WriteFcts(options.Text("fct-out"));
    }
    // No Simulator::Destroy: the process ends here, and taking the fabric apart is not measured.
    std::cout.flush();
    std::_Exit(g_seen.finished == g_flows.size() ? 0 : 1);
}
