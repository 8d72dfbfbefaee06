/*
 * links.c - a library of the program that links a driver function which no header of NVIDIA
 * declares.  Built with COPY, that function is a copy; with CAPTURE, it begins a capture.
 */
#include "../../standin/standin.h"

#pragma GCC visibility push(default)
#if defined(COPY)
CUresult links_copy(void *to, CUdeviceptr from, size_t bytes, CUstream stream);
CUresult links_copy(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	return cuStandinCopyThing(to, from, bytes, stream);
}
#elif defined(CAPTURE)
CUresult links_capture(CUstream stream);
CUresult links_capture(CUstream stream)
{
	return cuStandinBeginRecaptureThing(stream);
}
#else
CUresult links_read(CUdeviceptr from, void *to, size_t bytes);
CUresult links_read(CUdeviceptr from, void *to, size_t bytes)
{
	return cuStandinUnknownThing(from, to, bytes);
}
#endif
#pragma GCC visibility pop
