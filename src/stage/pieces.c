/*
 * pieces.c - chooses piece sizes: small pieces start the transfer early, large ones need fewer
 * driver calls.
 */
#include "stage/pieces.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

size_t pieces_bytes(bool to_device, size_t bytes)
{
	if (bytes < MIB)
		return PIECES_LEAST;
	if (bytes < 4 * MIB)
		return 256 * KIB;
	if (bytes < 16 * MIB)
		return to_device ? 512 * KIB : 256 * KIB;
	return to_device || bytes >= 64 * MIB ? MIB : 512 * KIB;
}

unsigned pieces_workers(bool to_device, size_t bytes, bool untouched, unsigned workers)
{
	unsigned most = untouched || bytes >= (to_device ? 32 : 16) * MIB ? 8 : 4;

	return workers < most ? workers : most;
}
