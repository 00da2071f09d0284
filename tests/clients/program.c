/* The client as a program. */
#include "round_trip.h"

int main(void) { return round_trip(); }
