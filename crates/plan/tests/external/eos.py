# Reads EOS lines into the structure that pyavd validates, lets it write them again, and compares.
import sys

import pyavd

text = sys.stdin.read()
device = {"hostname": "leaf", "qos": {"map": {"dscp": [], "traffic_class": []}},
          "qos_profiles": [], "ethernet_interfaces": []}
profile = queue = interface = None
for line in text.splitlines():
    words = line.split()
    if line.startswith("qos map dscp"):
        device["qos"]["map"]["dscp"].append(" ".join(words[3:]))
    elif line.startswith("qos map traffic-class"):
        device["qos"]["map"]["traffic_class"].append(" ".join(words[3:]))
    elif line.startswith("qos profile"):
        profile = {"name": words[2], "tx_queues": []}
        device["qos_profiles"].append(profile)
    elif words[:1] == ["interface"]:
        interface = {"name": words[1]}
        device["ethernet_interfaces"].append(interface)
    elif words[:1] == ["tx-queue"]:
        queue = {"id": int(words[1])}
        profile["tx_queues"].append(queue)
    elif words[:1] == ["bandwidth"]:
        queue["bandwidth_percent"] = int(words[2])
    elif words in (["no", "priority"], ["priority", "strict"]):
        queue["priority"] = " ".join(words)
    elif words == ["random-detect", "ecn", "count"]:
        queue["random_detect"]["ecn"]["count"] = True
    elif words[:2] == ["random-detect", "ecn"]:
        threshold = {"units": words[4], "min": int(words[3]), "max": int(words[6]),
                     "max_probability": int(words[9]), "weight": int(words[11])}
        queue["random_detect"] = {"ecn": {"threshold": threshold}}
    elif words == ["priority-flow-control", "on"]:
        profile["priority_flow_control"] = {"enabled": True, "priorities": []}
    elif words[:2] == ["priority-flow-control", "priority"]:
        profile["priority_flow_control"]["priorities"].append({"priority": int(words[2]), "no_drop": True})
    elif words[:1] == ["service-profile"]:
        interface["service_profile"] = words[1]
    elif words == ["qos", "trust", "dscp"]:
        interface["qos"] = {"trust": "dscp"}
    elif words not in ([], ["!"]):
        sys.exit(f"not read: {line}")

result = pyavd.validate_structured_config(device)
if result.validated_data is None:
    sys.exit(f"not valid: {result.validation_result}")
written = pyavd.get_device_config(device)


def plain(text):
    lines = (line.strip() for line in text.splitlines())
    return sorted(line for line in lines if line not in ("", "!", "hostname leaf"))


if plain(written) != plain(text):
    differ = set(plain(written)) ^ set(plain(text))
    sys.exit("pyavd writes other lines:\n" + "\n".join(sorted(differ)))
