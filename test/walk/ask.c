/*
 * ask.c - steps that query the driver about memory, and steps with deliberately invalid calls.
 */
#include "walk.h"
#include "shapes.h"

#include <string.h>

/* Reports a number of the driver about an address, as its distance from the buffer. */
static void ask_one(const struct buffer *b, uint64_t base, uint64_t at)
{
	static const CUpointer_attribute asked[] = {
		CU_POINTER_ATTRIBUTE_MEMORY_TYPE,      CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
		CU_POINTER_ATTRIBUTE_HOST_POINTER,     CU_POINTER_ATTRIBUTE_IS_MANAGED,
		CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,   CU_POINTER_ATTRIBUTE_MAPPED,
		CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
		CU_POINTER_ATTRIBUTE_CONTEXT,
	};
	CUpointer_attribute attribute = asked[below(9)];
	uint64_t value = 0;

	CUresult rc = SAY(cu[0].cuPointerGetAttribute(&value, attribute, at),
			  "cuPointerGetAttribute(%d, %c%d+%llu)", (int)attribute,
			  b->host ? 'h' : 'd', b->number, (unsigned long long)(at - base));
	if (rc != CUDA_SUCCESS)
		return;
	if (attribute == CU_POINTER_ATTRIBUTE_DEVICE_POINTER ||
	    attribute == CU_POINTER_ATTRIBUTE_HOST_POINTER ||
	    attribute == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR)
		value -= base;
	if (attribute == CU_POINTER_ATTRIBUTE_CONTEXT)
		value = value == (uintptr_t)p.context[0] ? 1 : 2;
	tell(value);
	note("it is %llu", (unsigned long long)value);
}

static void ask_many(const struct buffer *b, uint64_t base, uint64_t at)
{
	CUpointer_attribute asked[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
					CU_POINTER_ATTRIBUTE_HOST_POINTER,
					CU_POINTER_ATTRIBUTE_IS_MANAGED,
					CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL };
	unsigned type = 0, managed = 0;
	uint64_t host = 0;
	int ordinal = 0;
	void *values[] = { &type, &host, &managed, &ordinal };

	SAY(cu[0].cuPointerGetAttributes(4, asked, values, at), "cuPointerGetAttributes(%c%d)",
	    b->host ? 'h' : 'd', b->number);
	tell(type);
	tell(host == 0 ? 0 : host - base + 1);
	tell(managed & 0xff);
	tell((uint64_t)ordinal);
	note("they are %u, %llu, %u, %d", type,
	     (unsigned long long)(host == 0 ? 0 : host - base + 1), managed & 0xff, ordinal);
}

void step_ask(void)
{
	struct buffer *b = one_in(3) ? &p.device[below(DEVICES)] : &p.host[below(HOSTS)];
	uint64_t base, at;

	if (b->where == W_NOWHERE)
		return;
	base = b->host ? (uint64_t)b->at : b->there;
	at = base + below(b->bytes);
	switch (below(6)) {
	case 0: {
		CUdeviceptr start = 0;
		size_t size = 0;

		if (SAY(cu[0].cuMemGetAddressRange_v2(&start, &size, at),
			"cuMemGetAddressRange(%c%d)", b->host ? 'h' : 'd',
			b->number) == CUDA_SUCCESS) {
			tell(start - base);
			tell(size);
		}
		break;
	}
	case 1: {
		unsigned flags = 0;

		if (SAY(cu[0].cuMemHostGetFlags(&flags, (void *)at), "cuMemHostGetFlags(%c%d)",
			b->host ? 'h' : 'd', b->number) == CUDA_SUCCESS)
			tell(flags);
		break;
	}
	case 2: {
		CUdeviceptr there = 0;

		if (SAY(cu[0].cuMemHostGetDevicePointer_v2(&there, (void *)at, 0),
			"cuMemHostGetDevicePointer(%c%d)", b->host ? 'h' : 'd',
			b->number) == CUDA_SUCCESS)
			tell(there - base);
		break;
	}
	case 3:
		ask_many(b, base, at);
		break;
	default:
		ask_one(b, base, at);
		break;
	}
}

/* Calls that are refused immediately, in any state. */
void step_wrong(void)
{
	struct buffer *h = some_host(), *d = some_device(my_context());
	int f = one_in(3);
	struct target to = some_target();

	if (h == NULL || d == NULL || p.frozen)
		return;
	buffer_define(h, 0, 0, false);
	line_touch(to.line);
	line_touch(sync_target(f).line);
	/* The call may read the host's bytes. */
	if (!host_may(h, 0, h->bytes, true))
		return;
	switch (below(18)) {
	case 0:
		SAY(cu[f].cuMemcpyHtoD_v2(d->there, NULL, 64), "cuMemcpyHtoD(d%d, NULL)",
		    d->number);
		break;
	case 1:
		SAY(cu[f].cuMemcpyDtoH_v2(NULL, d->there, 64), "cuMemcpyDtoH(NULL, d%d)",
		    d->number);
		break;
	case 2:
		SAY(cu[f].cuMemcpyHtoD_v2(0, h->at, h->bytes), "cuMemcpyHtoD(0, h%d)", h->number);
		break;
	case 3:
		SAY(cu[f].cuMemcpyHtoD_v2(4096, h->at, h->bytes), "cuMemcpyHtoD(4096, h%d)",
		    h->number);
		break;
	case 4:
		SAY(cu[f].cuMemcpyDtoH_v2(h->at, 4096, h->bytes), "cuMemcpyDtoH(h%d, 4096)",
		    h->number);
		break;
	case 5:
		SAY(cu[to.flavor].cuMemcpyHtoDAsync_v2(4096, h->at, h->bytes, to.handle),
		    "cuMemcpyHtoDAsync(4096, h%d, %zu, l%d)", h->number, h->bytes, to.line);
		break;
	case 6:
		SAY(cu[to.flavor].cuMemcpyDtoHAsync_v2(h->at, 4096, h->bytes, to.handle),
		    "cuMemcpyDtoHAsync(h%d, 4096, %zu, l%d)", h->number, h->bytes, to.line);
		break;
	case 7:
		SAY(cu[0].cuMemFree_v2(d->there + 8), "cuMemFree(d%d+8)", d->number);
		break;
	case 8:
		if (h->where == W_PINNED || h->where == W_MANAGED)
			break;
		SAY(cu[0].cuMemFreeHost(h->at), "cuMemFreeHost(h%d)", h->number);
		break;
	case 9:
		SAY(cu[f].cuMemsetD8_v2(4096, 1, 64), "cuMemsetD8(4096)");
		break;
	case 10: {
		CUDA_MEMCPY2D c = shape_rows(in_device(d->there, 4), in_host(h->at, 4), 8, 2);

		SAY(cu[f].cuMemcpy2D_v2(&c), "cuMemcpy2D(d%d, h%d, pitch < width)", d->number,
		    h->number);
		break;
	}
	case 11:
		SAY(cu[f].cuMemcpyHtoD_v2(d->there, h->at, 0), "cuMemcpyHtoD(d%d, h%d, 0)",
		    d->number, h->number);
		break;
	/* Memory of malloc() is never device memory, in any state of its pages. */
	case 12:
		if (h->where == W_MALLOC && h->pin_hi == 0)
			SAY(cu[f].cuMemsetD8_v2((CUdeviceptr)h->at, 1, h->bytes),
			    "cuMemsetD8(h%d, 1, %zu)", h->number, h->bytes);
		break;
	case 13:
		if (h->where == W_MALLOC && h->pin_hi == 0)
			SAY(cu[f].cuMemcpyDtoD_v2(d->there, (CUdeviceptr)h->at, 16),
			    "cuMemcpyDtoD(d%d, h%d, 16)", d->number, h->number);
		break;
	case 14:
		if (h->where == W_MALLOC && h->pin_hi == 0)
			SAY(cu[f].cuMemcpyDtoH_v2(h->at, (CUdeviceptr)h->at, 16),
			    "cuMemcpyDtoH(h%d, h%d, 16)", h->number, h->number);
		break;
	/* Far beyond the end of both. */
	case 15:
		SAY(cu[f].cuMemcpyHtoD_v2(d->there, h->at, (size_t)1 << 40),
		    "cuMemcpyHtoD(d%d, h%d, 1 TiB)", d->number, h->number);
		break;
	case 16:
		SAY(cu[f].cuMemcpyDtoH_v2(h->at, d->there, (size_t)1 << 40),
		    "cuMemcpyDtoH(h%d, d%d, 1 TiB)", h->number, d->number);
		break;
	default:
		if (stand_in)
			SAY(cu[f].cuEventRecord(NULL, NULL), "cuEventRecord(NULL)");
		break;
	}
}
