# needs: cc cmake
# An extension module that CMake builds, as scikit-build-core calls it, installed with its place among the libraries.
cmake -S "$CLIENTS/scikit-build" -B "$OUT" -DSKBUILD_STATE=wheel -DPython_EXECUTABLE="$PYTHON" \
    -DCMAKE_INSTALL_PREFIX="$OUT/wheel" >"$OUT.log" &&
    cmake --build "$OUT" --target install >>"$OUT.log" || { cat "$OUT.log"; exit 1; }
PYTHONPATH="$OUT/wheel" "$PYTHON" -c 'import sys, client; sys.exit(client.run())'
