# needs: cc cmake
# CMake, with the variables that projects take from a command line, and paths below the directory of an architecture.
cmake -S "$CLIENTS/cmake-variables" -B "$OUT" -DASCEND_CANN_PACKAGE_PATH="$ASCEND_HOME_PATH" -DSOC_VERSION=Ascend910B1 >"$OUT.log" &&
    cmake --build "$OUT" >>"$OUT.log" || { cat "$OUT.log"; exit 1; }
"$OUT/program"
