# needs: grep awk
# Forms in which scripts ask for the chips, and the name of the system on a chip that they build from the answers.
set -e
command -v npu-smi >/dev/null
count=$(npu-smi info -l | grep "Total Count" | awk -F ':' '{print $2}' | tr -d ' ')
rows=$(npu-smi info -m | awk 'NR > 1 && $4 ~ /^Ascend/' | wc -l)
listed=$(npu-smi info | grep -c OK)
ids=$(npu-smi info -l | grep "NPU ID" | awk '{print $NF}' | wc -l)
first=$(npu-smi info -l | grep -m1 "NPU ID" | awk '{print $NF}')
name=$(npu-smi info -t board -i "$first" -c 0 | awk '/Chip Type/ {type = $NF} /Chip Name/ {name = $NF} END {print type name}')
mapped=$(npu-smi info -m | awk 'NR == 2 {print $NF}')
linked=$(npu-smi info -t topo | awk '/^NPU/ && NF > 2 {print $NF}' | grep -c '^[0-9]')
memory=$(npu-smi info -t usages -i "$first" -c 0 | awk -F: '/HBM Capacity/ {print $2 + 0}')
load=$(npu-smi info -t common -i "$first" | awk -F: '/Aicore Usage Rate/ {print $2 + 0}')
health=$(npu-smi info -t health -i "$first" -c 0 | awk '/Health Status/ {print $NF}')
[ "$linked" -eq "$count" ] && [ "$memory" -gt 0 ] && [ "$load" -eq 0 ] && [ "$health" = OK ]
[ "$count" -eq "$rows" ] && [ "$count" -eq "$listed" ] && [ "$count" -eq "$ids" ]
[ "$name" = "Ascend$mapped" ]
npu-smi -v | grep -q "^npu-smi version: [0-9]"
echo "$count devices, 4096 bytes came back"
