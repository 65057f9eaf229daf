// A peer for Tidegate's simulator: the same scenario in ns-3.37, with the best settings we know.
// ../README.md says what is measured and where the models differ.

#include "fabric.h"

#include "ns3/core-module.h"

#include <iomanip>
#include <numeric>
#include <sys/resource.h>

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
    double window = (std::min(Simulator::Now(), g_seen.until) - g_seen.from).GetSeconds();
    std::vector<Port*> averaged;
    if (options.IsStar())
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
    uint64_t once = SegmentsOfAllFlows(options.Mss());

    auto ratio = [](double a, double b) { return b > 0 ? a / b : 0.0; };
    std::cout << std::setprecision(9) << "{\"simulator\":\"ns-" PEER_VERSION "\",\"scenario\":\""
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
    bool isStar = options.IsStar();
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
