# Two Python processes as ranks, which find the functions of collective communication by name.
"$PYTHON" "$CLIENTS/ctypes-hccl/program.py"
