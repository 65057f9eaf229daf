// The command line of a peer, and its flow list. Both are checked before anything is built.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

// Prints the error and ends the program with the code of a usage error.
[[noreturn]] inline void
Refuse(const std::string& message)
{
    std::cerr << "peer: " << message << "\n";
    std::exit(2);
}

inline double
NumberOf(const std::string& what, const std::string& text, double least, double most)
{
    char* end = nullptr;
    errno = 0;
    double number = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || errno != 0 || !(number >= least && number <= most))
    {
        std::ostringstream message;
        message << what << " is '" << text << "', allowed is " << least << " to " << most;
        Refuse(message.str());
    }
    return number;
}

inline uint64_t
CountOf(const std::string& what, const std::string& text, uint64_t least, uint64_t most)
{
    double number = NumberOf(what, text, least, most);
    if (number != std::floor(number))
    {
        Refuse(what + " is '" + text + "', allowed is a whole number");
    }
    return static_cast<uint64_t>(number);
}

// Every option has a default, here or in one peer's own list; any other name is refused.
class Options
{
  public:
    using Values = std::map<std::string, std::string>;

    Options(int count, char** arguments, const Values& own)
    {
        m_values.insert(own.begin(), own.end());
        for (int i = 1; i < count; i += 2)
        {
            std::string name = arguments[i];
            if (name.rfind("--", 0) != 0 || m_values.find(name.substr(2)) == m_values.end())
            {
                Refuse("unknown option '" + name + "'");
            }
            if (i + 1 == count)
            {
                Refuse(name + " needs a value");
            }
            m_values[name.substr(2)] = arguments[i + 1];
        }
    }

    const std::string& Text(const std::string& name) const
    {
        return m_values.at(name);
    }

    bool Is(const std::string& name, const std::string& yes, const std::string& no) const
    {
        const std::string& text = Text(name);
        if (text != yes && text != no)
        {
            Refuse("--" + name + " is '" + text + "', allowed is " + yes + " or " + no);
        }
        return text == yes;
    }

    double Number(const std::string& name, double least, double most) const
    {
        return NumberOf("--" + name, Text(name), least, most);
    }

    uint32_t Count(const std::string& name, uint32_t least, uint32_t most) const
    {
        return CountOf("--" + name, Text(name), least, most);
    }

    bool IsStar() const
    {
        return Is("scenario", "star", "leaf-spine");
    }

    uint32_t Hosts() const
    {
        return IsStar() ? Count("hosts", 2, 60'000)
                        : Count("leaves", 1, 1000) * Count("hosts-per-leaf", 1, 10'000);
    }

    uint32_t Spines() const
    {
        return IsStar() ? 1 : Count("spines", 1, 1000);
    }

    uint32_t Mss() const
    {
        return Count("mss", 1, 60'000);
    }

  private:
    Values m_values{
        {"scenario", "star"},
        {"flows", ""},
        {"fct-out", ""},
        // Star: hosts around one switch. Leaf-spine: host h is at leaf h / hosts-per-leaf.
        {"hosts", "9"},
        {"leaves", "8"},
        {"spines", "8"},
        {"hosts-per-leaf", "16"},
        {"rate-gbps", "10"},
        // Propagation delay of one link.
        {"delay-us", "25"},
        // A packet that finds this many waiting, without the one on the wire, is marked; one
        // that finds the buffer full is dropped. In bytes, a packet counts as a full one.
        {"threshold-packets", "65"},
        {"buffer-packets", "1000"},
        {"mss", "1460"},
        {"initial-window", "10"},
        {"min-rto-ms", "10"},
        // The part of the run over which averages are taken; 0 is the end of the run.
        {"from-s", "0"},
        {"until-s", "0"},
        // A run that lasts longer is cut, and its unfinished flows are left blank.
        {"time-limit-s", "100"},
    };
};

struct Flow
{
    std::string id;
    double start_s;
    uint32_t source;
    uint32_t destination;
    uint32_t bytes;
    uint32_t spine;     // of its data
    uint32_t ack_spine; // of its ACKs
    uint32_t place;     // in the list
    uint16_t port = 0;  // of the sender
    uint32_t received = 0;
    double fct_s = -1;
};

// FNV-1a over the ends and the place in the list: the spine of a flow without one in the list.
inline uint32_t
HashOf(uint32_t source, uint32_t destination, uint32_t index)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (uint32_t word : {source, destination, index})
    {
        for (int shift = 0; shift < 32; shift += 8)
        {
            hash = (hash ^ ((word >> shift) & 0xff)) * 0x100000001b3;
        }
    }
    return static_cast<uint32_t>(hash >> 32);
}

// Reads `id,start_s,src,dst,bytes[,spine[,ack_spine]]`; a first line of names is skipped.
inline std::vector<Flow>
ReadFlows(const std::string& path, uint32_t hosts, uint32_t spines)
{
    std::ifstream file(path);
    if (!file)
    {
        Refuse("cannot read --flows '" + path + "'");
    }
    std::vector<Flow> flows;
    std::string line;
    for (uint32_t number = 1; std::getline(file, line); ++number)
    {
        if (!line.empty() && line.back() == '\r')
        {
            line.pop_back();
        }
        if (line.empty() || (number == 1 && line.rfind("id,", 0) == 0))
        {
            continue;
        }
        std::string where = path + ":" + std::to_string(number) + ": ";
        std::vector<std::string> field;
        std::istringstream parts(line);
        for (std::string part; std::getline(parts, part, ',');)
        {
            field.push_back(part);
        }
        if (field.size() < 5 || field.size() > 7)
        {
            Refuse(where + "expected id,start_s,src,dst,bytes[,spine[,ack_spine]]");
        }
        Flow flow;
        flow.id = field[0];
        flow.start_s = NumberOf(where + "start_s", field[1], 0, 1e6);
        flow.source = CountOf(where + "src", field[2], 0, hosts - 1);
        flow.destination = CountOf(where + "dst", field[3], 0, hosts - 1);
        if (flow.source == flow.destination)
        {
            Refuse(where + "src and dst are the same host");
        }
        // The whole flow is one write, so it has to fit the largest send buffer.
        flow.bytes = CountOf(where + "bytes", field[4], 1, 4'000'000'000);
        uint32_t hash = HashOf(flow.source, flow.destination, flows.size());
        flow.spine =
            field.size() > 5 ? CountOf(where + "spine", field[5], 0, spines - 1) : hash % spines;
        flow.ack_spine =
            field.size() > 6 ? CountOf(where + "ack_spine", field[6], 0, spines - 1) : flow.spine;
        flow.place = flows.size();
        flows.push_back(flow);
    }
    if (flows.empty())
    {
        Refuse("no flows in '" + path + "'");
    }
    return flows;
}

// The flows by start; flows with the same start keep the order of the list.
inline std::vector<uint32_t>
OrderOfStarts(const std::vector<Flow>& flows)
{
    std::vector<uint32_t> order(flows.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
        return flows[a].start_s < flows[b].start_s;
    });
    return order;
}
