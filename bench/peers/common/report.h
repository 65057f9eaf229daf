// Output of a peer: one flat JSON object, and the FCT of each flow. The same for every peer.
#pragma once

#include "options.h"

#include <algorithm>
#include <iomanip>
#include <numeric>
#include <optional>
#include <sys/resource.h>

// Packets waiting at a port, over time.
struct Waiting
{
    double packetSeconds = 0;
    double squareSeconds = 0;
    uint32_t most = 0;

    void Add(uint32_t packets, double seconds)
    {
        packetSeconds += double(packets) * seconds;
        squareSeconds += double(packets) * packets * seconds;
        most = std::max(most, packets);
    }
};

// Fields of the object, measured by each peer.
struct Measured
{
    std::string simulator;
    uint64_t hops;
    double cpuSeconds; // of one run, the mean of so many:
    uint32_t runs;
    double endSeconds;
    double fromSeconds; // the window
    double windowSeconds;
    std::vector<const Waiting*> ports;
    uint64_t dataEnqueued;
    uint64_t dataMarked;
    uint64_t bytesDelivered;
    uint64_t drops;
    std::optional<uint64_t> retransmissions;
    long peakMemoryKib;
};

inline rusage
UsageOfThisProcess()
{
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage;
}

inline double
CpuSeconds()
{
    rusage usage = UsageOfThisProcess();
    auto seconds = [](const timeval& time) { return time.tv_sec + time.tv_usec * 1e-6; };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

inline long
PeakMemoryKib()
{
    return UsageOfThisProcess().ru_maxrss;
}

inline void
WriteFcts(const std::string& path, const std::vector<Flow>& flows)
{
    std::ofstream file(path);
    file << "id,fct_s\n" << std::setprecision(12);
    for (const Flow& flow : flows)
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

// Prints the object, and writes the FCTs on request.
inline void
Report(const Options& options, const Measured& measured, const std::vector<Flow>& flows)
{
    Waiting all;
    for (const Waiting* port : measured.ports)
    {
        all.packetSeconds += port->packetSeconds;
        all.squareSeconds += port->squareSeconds;
        all.most = std::max(all.most, port->most);
    }
    double portSeconds = measured.windowSeconds * measured.ports.size();
    double mean = all.packetSeconds / portSeconds;
    double deviation = std::sqrt(std::max(0.0, all.squareSeconds / portSeconds - mean * mean));

    std::vector<double> fcts;
    for (const Flow& flow : flows)
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

    auto ratio = [](double a, double b) { return b > 0 ? a / b : 0.0; };
    std::cout << std::setprecision(9) << "{\"simulator\":\"" << measured.simulator
              << "\",\"scenario\":\"" << options.Text("scenario")
              << "\",\"packet_hops\":" << measured.hops
              << ",\"cpu_seconds\":" << measured.cpuSeconds
              << ",\"cpu_seconds_is_mean_of_runs\":" << measured.runs
              << ",\"packet_hops_per_cpu_second\":" << ratio(measured.hops, measured.cpuSeconds)
              << ",\"sim_seconds\":" << measured.endSeconds
              << ",\"window_from_s\":" << measured.fromSeconds
              << ",\"window_s\":" << measured.windowSeconds
              << ",\"mean_queue_packets\":" << mean << ",\"sd_queue_packets\":" << deviation
              << ",\"max_queue_packets\":" << all.most
              << ",\"mark_fraction\":" << ratio(measured.dataMarked, measured.dataEnqueued)
              << ",\"data_packets_marked\":" << measured.dataMarked
              << ",\"data_packets_enqueued\":" << measured.dataEnqueued
              << ",\"goodput_gbps\":" << ratio(measured.bytesDelivered * 8e-9, measured.windowSeconds)
              << ",\"flows\":" << flows.size() << ",\"flows_finished\":" << fcts.size()
              << ",\"fct_definition\":\"connect to last byte at the receiving application\""
              << ",\"fct_mean_s\":" << ratio(total, fcts.size()) << ",\"fct_p50_s\":" << at(0.5)
              << ",\"fct_p99_s\":" << at(0.99) << ",\"drops\":" << measured.drops
              << ",\"retransmissions\":";
    if (measured.retransmissions)
    {
        std::cout << *measured.retransmissions;
    }
    else
    {
        std::cout << "null";
    }
    std::cout << ",\"peak_memory_kib\":" << measured.peakMemoryKib << "}" << std::endl;
    if (!options.Text("fct-out").empty())
    {
        WriteFcts(options.Text("fct-out"), flows);
    }
}
