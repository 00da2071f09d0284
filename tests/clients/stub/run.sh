# needs: cc
# Linked with the libraries for machines without a driver, and started with those of another directory.
cc "$CLIENTS/program.c" -I"$ASCEND_HOME_PATH/include" -L"$ASCEND_HOME_PATH/lib64/stub" -lascendcl -lruntime -o "$OUT/program"
LD_LIBRARY_PATH="$ASCEND_HOME_PATH/$(uname -m)-linux/lib64:$ASCEND_HOME_PATH/devlib" "$OUT/program"
