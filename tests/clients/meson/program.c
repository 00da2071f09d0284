#include "../program.c"
