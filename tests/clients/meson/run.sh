# needs: cc meson ninja
# meson, which searches libraries in directories that the build file names.
meson setup "$OUT" "$CLIENTS/meson" >"$OUT.log" && meson compile -C "$OUT" >>"$OUT.log" || { cat "$OUT.log"; exit 1; }
"$OUT/program"
