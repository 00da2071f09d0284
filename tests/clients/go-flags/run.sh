# needs: cc
# The options of cgo, which come from the environment; the program may use the library before it is linked.
CGO_CFLAGS="-I$ASCEND_TOOLKIT_HOME/include" CGO_LDFLAGS="-L$ASCEND_TOOLKIT_HOME/lib64 -lascendcl -Wl,--no-undefined"
# shellcheck disable=SC2086
cc -fPIC -pthread $CGO_CFLAGS -c "$CLIENTS/program.c" -o "$OUT/program.o" && cc "$OUT/program.o" $CGO_LDFLAGS -o "$OUT/program"
"$OUT/program"
