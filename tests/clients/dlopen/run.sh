# needs: cc
# A program without CANN at build time, which looks for the library in the usual places, one after the other.
cc "$CLIENTS/dlopen/program.c" -ldl -o "$OUT/program"
for variable in ASCEND_HOME_PATH ASCEND_TOOLKIT_HOME ASCEND_TOOLKIT_PATH; do
    env -u LD_LIBRARY_PATH -u ASCEND_HOME_PATH -u ASCEND_TOOLKIT_HOME "$variable=$ASCEND_HOME_PATH" "$OUT/program" >&2
done
env -u ASCEND_HOME_PATH -u ASCEND_TOOLKIT_HOME "$OUT/program"
