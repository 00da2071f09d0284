# needs: cc
# The commands of Bazel: headers and libraries are links in a sandbox, paths are relative, and the program finds its
# library by a path that is relative to it.
mkdir -p "$OUT/external/cann" "$OUT/bin" "$OUT/client"
ln -s "$ASCEND_HOME_PATH/include" "$ASCEND_HOME_PATH/lib64" "$OUT/external/cann"
cp "$CLIENTS/program.c" "$CLIENTS/round_trip.h" "$OUT/client"
cd "$OUT"
unset LD_LIBRARY_PATH
cc -iquote . -iquote client -isystem external/cann/include -fPIC -U_FORTIFY_SOURCE -fstack-protector -Wall \
    -no-canonical-prefixes -c client/program.c -o bin/program.o
cc -o bin/program bin/program.o -Lexternal/cann/lib64 -lascendcl "-Wl,-rpath,\$ORIGIN/../external/cann/lib64" -Wl,-S
cd /
"$OUT/bin/program"
