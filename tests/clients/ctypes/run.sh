# A Python program that declares nothing and passes numbers.
"$PYTHON" "$CLIENTS/ctypes/program.py"
