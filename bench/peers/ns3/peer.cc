// A peer for Tidegate's simulator: the same scenario in ns-3.37, with the best settings we know.
// ../README.md describes the measurements and the differences of the models.

#include "fabric.h"

#include "ns3/core-module.h"

#ifndef PEER_VERSION
#define PEER_VERSION "?"
#endif

namespace
{

void
OnData(Flow* flow, Ptr<Socket> socket)
{
    while (Ptr<Packet> packet = socket->Recv())
    {
        if (packet->GetSize() == 0)
        {
            break; // the end of the stream
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

// Connects, writes the flow in one piece and closes, like a client that has all of its data.
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

// Starts due flows and sleeps until the next, so that the event list holds only one start.
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
    set("TcpSocket::SegmentSize", UintegerValue(options.Mss()));
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

// Data segments needed to send every flow once, if they count as data.
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

// Further data packets, known only if every flow was sent to its end.
std::optional<uint64_t>
Retransmissions(uint32_t mss)
{
    uint64_t once = SegmentsOfAllFlows(mss);
    bool isComplete = g_seen.finished == g_flows.size() && g_seen.dataSent >= once;
    return isComplete ? std::optional(g_seen.dataSent - once) : std::nullopt;
}

Measured
Summary(const Options& options, Fabric& fabric, double cpuSeconds)
{
    std::vector<Port*> ports;
    if (options.IsStar())
    {
        ports.push_back(fabric.portTo[g_flows[0].destination]);
    }
    else
    {
        for (const auto& port : fabric.ports)
        {
            ports.push_back(port.get());
        }
    }
    Measured measured{};
    for (Port* port : ports)
    {
        Integrate(port);
        measured.ports.push_back(&port->waiting);
    }
    measured.simulator = "ns-" PEER_VERSION;
    measured.hops = g_seen.hops;
    measured.cpuSeconds = cpuSeconds;
    measured.runs = 1;
    measured.endSeconds = Simulator::Now().GetSeconds();
    measured.fromSeconds = g_seen.from.GetSeconds();
    measured.windowSeconds = (std::min(Simulator::Now(), g_seen.until) - g_seen.from).GetSeconds();
    measured.dataEnqueued = g_seen.dataEnqueued;
    measured.dataMarked = g_seen.dataMarked;
    measured.bytesDelivered = g_seen.bytesDelivered;
    measured.drops = g_seen.drops;
    measured.retransmissions = Retransmissions(options.Mss());
    measured.peakMemoryKib = PeakMemoryKib();
    return measured;
}

// Options that no other peer has.
const Options::Values OWN_OPTIONS{
    // Unit of thresholds and buffers.
    {"unit", "bytes"},
    // Instead of RED: eight queues served in turn, with marking by the time that a packet has
    // waited, as long as the threshold takes to send. There are no pools in ns-3: each port has
    // room for as much as the pool.
    {"switch", "red"},
    {"pool-packets", "3072"},
    {"timestamps", "off"},
    // The fastest of ns-3's event lists here; all give the same results.
    {"scheduler", "ns3::PriorityQueueScheduler"},
};

} // namespace

int
main(int count, char** arguments)
{
    // 1502 bytes at 10 Gb/s take 1201.6 ns, which the default of nanoseconds would cut.
    Time::SetResolution(Time::PS);
    Options options(count, arguments, OWN_OPTIONS);
    uint32_t hosts = options.Hosts();
    g_flows = ReadFlows(options.Text("flows"), hosts, options.Spines());
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
    std::vector<uint32_t> order = OrderOfStarts(g_flows);
    Simulator::Schedule(Time(0), &StartNext, &fabric.hosts, &order, size_t{0});
    Simulator::Stop(Seconds(options.Number("time-limit-s", 1e-6, 1e6)));

    double before = CpuSeconds();
    Simulator::Run();
    double cpuSeconds = CpuSeconds() - before;

    Report(options, Summary(options, fabric, cpuSeconds), g_flows);
    // No Simulator::Destroy: the process ends here, and taking the fabric apart is not measured.
    std::_Exit(g_seen.finished == g_flows.size() ? 0 : 1);
}
