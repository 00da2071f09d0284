# needs: cc sed
# A build script, as Cargo runs: it reads the release wherever releases of CANN write it, compares what it has read, and
# passes flags on as "cargo:" lines.
set -e
info="$ASCEND_HOME_PATH/$(uname -m)-linux/ascend_toolkit_install.info"
release=$(sed -n 's/^version=//p' "$info")
directory=$(sed -n 's/^path=//p' "$info")
[ "$(sed -n 's/^arch=//p' "$info")" = "$(uname -m)" ]
grep -q "^runtime_running_version=\[$release:$release\]$" "$ASCEND_HOME_PATH/version.cfg"
for file in "$ASCEND_HOME_PATH/version.info" "$ASCEND_HOME_PATH"/share/info/*/version.info; do
    [ "$(sed -n 's/^Version=//p' "$file")" = "$release" ]
done
cat >"$OUT/flags" <<FLAGS
cargo:rustc-env=CANN_RELEASE=$release
cargo:rustc-link-search=native=$directory/lib64
cargo:rustc-link-lib=dylib=ascendcl
cargo:include=$directory/include
FLAGS
search=$(sed -n 's/^cargo:rustc-link-search=native=//p' "$OUT/flags")
library=$(sed -n 's/^cargo:rustc-link-lib=dylib=//p' "$OUT/flags")
include=$(sed -n 's/^cargo:include=//p' "$OUT/flags")
cc "$CLIENTS/program.c" "-I$include" "-L$search" "-l$library" -o "$OUT/program"
"$OUT/program"
