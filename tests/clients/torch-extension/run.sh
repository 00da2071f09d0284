# needs: cc
# The options with which PyTorch's builder of extensions calls a compiler, for a function that ctypes calls.
cd "$OUT"
printf '%s\n' '#include "round_trip.h"' 'extern "C" int run() { return round_trip(); }' >client.cpp
c++ -MMD -MF client.o.d -DTORCH_EXTENSION_NAME=client -DTORCH_API_INCLUDE_EXTENSION_H -I"$CLIENTS" \
    -isystem "$ASCEND_HOME_PATH/include" -isystem "$ASCEND_HOME_PATH/include/experiment/runtime" \
    -isystem "$ASCEND_HOME_PATH/include/experiment/msprof" -D_GLIBCXX_USE_CXX11_ABI=0 -fPIC -std=c++17 -O1 \
    -c client.cpp -o client.o
c++ client.o -shared -L"$ASCEND_HOME_PATH/lib64" -lascendcl -lhccl "-Wl,-rpath,$ASCEND_HOME_PATH/lib64" -o client.so
unset LD_LIBRARY_PATH
"$PYTHON" -c 'import ctypes, sys; sys.exit(ctypes.CDLL("./client.so").run())'
