// A peer for Tidegate's simulator: the same scenario on htsim's classes. htsim has a program for
// each experiment; this is one more. ../README.md describes the measurements and the differences of
// the models.

#include "fabric.h"

#include "dctcp.h"
#include "ecn.h"

#include <sys/wait.h>
#include <unistd.h>

#ifndef PEER_VERSION
#define PEER_VERSION "?"
#endif

// htsim lists all objects by name for its log files. It does so in a source file that needs every
// transport; here, nothing is logged.
LoggedManager::LoggedManager() = default;

void
LoggedManager::add_logged(Logged*)
{
}

LoggedManager Logged::_logged_manager;

namespace
{

// htsim's segments are whole packets: headers and all are in its sequence numbers.
uint32_t
PacketBytes(const Options& options)
{
    return options.Mss() + 40 + options.Count("framing-bytes", 0, 1000);
}

// The receiving end, which detects the end of its flow.
class Receiver : public TcpSink
{
  public:
    Receiver(Flow& flow, uint32_t mss, bool isObserved)
        : m_flow(flow),
          m_mss(mss),
          m_isObserved(isObserved)
    {
    }

    uint64_t Segments() const
    {
        return (uint64_t{m_flow.bytes} + m_mss - 1) / m_mss;
    }

    void receivePacket(Packet& packet) override
    {
        if (m_isObserved && IsObservedNow())
        {
            g_seen.dataMarked += IsData(packet) && (packet.flags() & ECN_CE) != 0;
            uint64_t before = Delivered();
            TcpSink::receivePacket(packet);
            g_seen.bytesDelivered += Delivered() - before;
        }
        else
        {
            TcpSink::receivePacket(packet);
        }
        // The SYN is the first byte of the stream.
        if (m_flow.fct_s < 0 && _cumulative_ack > Segments() * Packet::data_packet_size())
        {
            m_flow.fct_s = timeAsSec(EventList::now()) - m_flow.start_s;
            ++g_seen.finished;
        }
    }

  private:
    uint64_t Delivered() const
    {
        uint64_t segments = _cumulative_ack / Packet::data_packet_size();
        return std::min<uint64_t>(segments * m_mss, m_flow.bytes);
    }

    Flow& m_flow;
    uint32_t m_mss;
    bool m_isObserved;
};

struct Connection
{
    std::unique_ptr<DCTCPSrc> sender;
    std::unique_ptr<Receiver> receiver;
    std::unique_ptr<Route> there;
    std::unique_ptr<Route> back;
};

// Starts due flows and sleeps until the next, so that the event list holds only one start.
class Starter : public EventSource
{
  public:
    Starter(EventList& events, const std::vector<Flow>& flows, std::vector<Connection>& connections)
        : EventSource(events, "starter"),
          m_flows(flows),
          m_connections(connections),
          m_order(OrderOfStarts(flows))
    {
        events.sourceIsPending(*this, StartOfNext());
    }

    void doNextEvent() override
    {
        for (; m_place < m_order.size(); ++m_place)
        {
            simtime_picosec start = StartOfNext();
            if (start > EventList::now())
            {
                eventlist().sourceIsPending(*this, start);
                return;
            }
            Connection& next = m_connections[m_order[m_place]];
            next.sender->connect(*next.there, *next.back, *next.receiver, start);
        }
    }

  private:
    simtime_picosec StartOfNext() const
    {
        return timeFromSec(m_flows[m_order[m_place]].start_s);
    }

    const std::vector<Flow>& m_flows;
    std::vector<Connection>& m_connections;
    std::vector<uint32_t> m_order;
    size_t m_place = 0;
};

// Cost of a run.
struct Cost
{
    double cpuSeconds;
    uint64_t hops;
    simtime_picosec end;
    long peakMemoryKib;
};

// One run. htsim's clock and event list are static: there is one run in a process.
class Run
{
  public:
    Run(const Options& options, std::vector<Flow>& flows, bool isObserved)
        : m_flows(flows),
          m_fabric(options, m_events, isObserved),
          m_timers(timeFromMs(int(options.Count("min-rto-ms", 1, 100'000))), m_events)
    {
        uint32_t window = options.Count("initial-window", 1, 10'000);
        m_events.setEndtime(timeFromSec(options.Number("time-limit-s", 1e-6, 1e6)));
        for (Flow& flow : flows)
        {
            Connection connection;
            connection.sender = std::make_unique<DCTCPSrc>(nullptr, nullptr, m_events);
            connection.receiver = std::make_unique<Receiver>(flow, options.Mss(), isObserved);
            connection.there =
                m_fabric.Way(flow.source, flow.destination, flow.spine, *connection.receiver);
            connection.back =
                m_fabric.Way(flow.destination, flow.source, flow.ack_spine, *connection.sender);
            DCTCPSrc& sender = *connection.sender;
            sender.set_cwnd(window * Packet::data_packet_size());
            sender.set_ssthresh(UINT32_MAX);
            // A new packet leaves until this is reached. The setter would add two packets.
            sender._flow_size = connection.receiver->Segments() * Packet::data_packet_size() - 1;
            m_timers.registerTcp(sender);
            m_connections.push_back(std::move(connection));
        }
    }

    Cost ToTheEnd()
    {
        Starter starter(m_events, m_flows, m_connections);
        // htsim reports finished flows.
        std::cout.setstate(std::ios::failbit);
        double before = CpuSeconds();
        while (g_seen.finished < m_flows.size() && m_events.doNextEvent())
        {
        }
        double cpuSeconds = CpuSeconds() - before;
        std::cout.clear();
        return {cpuSeconds, g_seen.hops, EventList::now(), PeakMemoryKib()};
    }

    // Observations. The ports belong to this run.
    Measured Summary(const Options& options)
    {
        Measured measured{};
        std::vector<Port*> switchPorts = m_fabric.SwitchPorts();
        for (Port* port : switchPorts)
        {
            measured.drops += port->queue->num_drops();
        }
        if (options.IsStar())
        {
            switchPorts = {&m_fabric.PortTo(m_flows[0].destination)};
        }
        for (Port* port : switchPorts)
        {
            port->observer->Integrate();
            measured.ports.push_back(&port->observer->waiting);
        }
        measured.simulator = "htsim-" PEER_VERSION;
        measured.endSeconds = timeAsSec(EventList::now());
        measured.fromSeconds = timeAsSec(g_seen.from);
        measured.windowSeconds =
            timeAsSec(std::min(EventList::now(), g_seen.until)) - measured.fromSeconds;
        measured.dataEnqueued = g_seen.dataEnqueued;
        measured.dataMarked = g_seen.dataMarked;
        measured.bytesDelivered = g_seen.bytesDelivered;
        measured.retransmissions = Retransmissions();
        return measured;
    }

  private:
    // Data packets beyond those needed, known only if every flow was sent to its end.
    std::optional<uint64_t> Retransmissions() const
    {
        uint64_t again = 0;
        for (const Connection& connection : m_connections)
        {
            uint64_t sent = connection.sender->_packets_sent / Packet::data_packet_size();
            again += sent - connection.receiver->Segments();
        }
        bool isComplete = g_seen.finished == m_flows.size();
        return isComplete ? std::optional(again) : std::nullopt;
    }

    std::vector<Flow>& m_flows;
    EventList m_events;
    Fabric m_fabric;
    TcpRtxTimerScanner m_timers;
    std::vector<Connection> m_connections;
};

// The cost of a run in which only hops and the ends of flows are observed, in a process of its own.
Cost
CostOfOne(const Options& options, std::vector<Flow>& flows)
{
    int ends[2];
    if (pipe(ends) != 0)
    {
        Refuse("cannot make a pipe");
    }
    pid_t child = fork();
    if (child == 0)
    {
        Run run(options, flows, false);
        Cost cost = run.ToTheEnd();
        bool isTold = write(ends[1], &cost, sizeof(cost)) == sizeof(cost);
        _exit(isTold ? 0 : 1);
    }
    close(ends[1]);
    Cost cost;
    bool isKnown = child > 0 && read(ends[0], &cost, sizeof(cost)) == sizeof(cost);
    close(ends[0]);
    int status = 0;
    if (!isKnown || waitpid(child, &status, 0) != child || status != 0)
    {
        Refuse("the run in a process of its own did not end");
    }
    return cost;
}

// Runs are repeated until they have taken this long together, because one may be too short to
// measure.
constexpr double LEAST_SECONDS = 1;
constexpr uint32_t MOST_RUNS = 100;

const Options::Values OWN_OPTIONS{
    // Bytes that a link adds to an IP packet.
    {"framing-bytes", "2"},
};

} // namespace

int
main(int count, char** arguments)
{
    Options options(count, arguments, OWN_OPTIONS);
    std::vector<Flow> flows = ReadFlows(options.Text("flows"), options.Hosts(), options.Spines());
    Packet::set_packet_size(PacketBytes(options));
    g_seen.from = timeFromSec(options.Number("from-s", 0, 1e6));
    if (double until = options.Number("until-s", 0, 1e6))
    {
        g_seen.until = timeFromSec(until);
    }

    Cost cost = CostOfOne(options, flows);
    double cpuSeconds = cost.cpuSeconds;
    uint32_t runs = 1;
    for (; runs < MOST_RUNS && cpuSeconds < LEAST_SECONDS; ++runs)
    {
        cpuSeconds += CostOfOne(options, flows).cpuSeconds;
    }

    Run observed(options, flows, true);
    Cost again = observed.ToTheEnd();
    if (again.hops != cost.hops || again.end != cost.end)
    {
        Refuse("the run that is observed differs from that which is measured");
    }
    Measured measured = observed.Summary(options);
    measured.hops = cost.hops;
    measured.cpuSeconds = cpuSeconds / runs;
    measured.runs = runs;
    measured.peakMemoryKib = cost.peakMemoryKib;
    Report(options, measured, flows);
    // The process ends here, and taking the fabric apart is not measured.
    std::_Exit(g_seen.finished == flows.size() ? 0 : 1);
}
