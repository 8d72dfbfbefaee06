/*
 * The copies and memsets of libcuda, once per flavour: included with PT, DS() and SZ() set to what
 * stream NULL means and how the name ends (libcuda_copy.c).  Not a header to include elsewhere,
 * hence no guard.
 */

#define DEV  CU_MEMORYTYPE_DEVICE
#define HOST CU_MEMORYTYPE_HOST
#define UVA  CU_MEMORYTYPE_UNIFIED

CUresult DS(cuMemcpy)(CUdeviceptr dst, CUdeviceptr src, size_t n)
{
	return call_begin(__func__, NEED_CTX, "%D %D %z", dst, src, n)
		       ?: call_end(on_linear(UVA, dst, UVA, src, n, NULL, PT, false));
}

CUresult DS(cuMemcpyHtoD_v2)(CUdeviceptr dst, const void *src, size_t n)
{
	return call_begin(__func__, NEED_CTX, "%D %H %z", dst, src, n)
		       ?: call_end(on_linear(DEV, dst, HOST, (uintptr_t)src, n, NULL, PT, false));
}

CUresult DS(cuMemcpyDtoH_v2)(void *dst, CUdeviceptr src, size_t n)
{
	return call_begin(__func__, NEED_CTX, "%H %D %z", dst, src, n)
		       ?: call_end(on_linear(HOST, (uintptr_t)dst, DEV, src, n, NULL, PT, false));
}

CUresult DS(cuMemcpyDtoD_v2)(CUdeviceptr dst, CUdeviceptr src, size_t n)
{
	return call_begin(__func__, NEED_CTX, "%D %D %z", dst, src, n)
		       ?: call_end(on_linear(DEV, dst, DEV, src, n, NULL, PT, false));
}

CUresult DS(cuMemcpyPeer)(CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from, size_t n)
{
	return call_begin(__func__, NEED_CTX, "%D %p %D %p %z", dst, to, src, from, n)
		       ?: call_end(on_linear(UVA, dst, UVA, src, n, NULL, PT, false));
}

CUresult DS(cuMemcpyDtoA_v2)(CUarray dst, size_t offset, CUdeviceptr src, size_t n)
{
	return call_begin(__func__, NEED_CTX, "%p+%z %D %z", dst, offset, src, n)
		       ?: call_end(on_array(dst, offset, NULL, src, DEV, n, NULL, PT, false));
}

CUresult DS(cuMemcpyAtoD_v2)(CUdeviceptr dst, CUarray src, size_t offset, size_t n)
{
	return call_begin(__func__, NEED_CTX, "%D %p+%z %z", dst, src, offset, n)
		       ?: call_end(on_array(NULL, dst, src, offset, DEV, n, NULL, PT, false));
}

CUresult DS(cuMemcpyHtoA_v2)(CUarray dst, size_t offset, const void *src, size_t n)
{
	return call_begin(__func__, NEED_CTX, "%p+%z %H %z", dst, offset, src, n)
		       ?: call_end(on_array(dst, offset, NULL, (uintptr_t)src, HOST, n, NULL, PT,
					    false));
}

CUresult DS(cuMemcpyAtoH_v2)(void *dst, CUarray src, size_t offset, size_t n)
{
	return call_begin(__func__, NEED_CTX, "%H %p+%z %z", dst, src, offset, n)
		       ?: call_end(on_array(NULL, (uintptr_t)dst, src, offset, HOST, n, NULL, PT,
					    false));
}

CUresult DS(cuMemcpyAtoA_v2)(CUarray dst, size_t to, CUarray src, size_t from, size_t n)
{
	return call_begin(__func__, NEED_CTX, "%p+%z %p+%z %z", dst, to, src, from, n)
		       ?: call_end(on_array(dst, to, src, from, DEV, n, NULL, PT, false));
}

CUresult DS(cuMemcpy2D_v2)(const CUDA_MEMCPY2D *c)
{
	return call_begin(__func__, NEED_CTX, "%zx%z", c->WidthInBytes, c->Height)
		       ?: call_end(on_2d(c, NULL, PT, false));
}

CUresult DS(cuMemcpy2DUnaligned_v2)(const CUDA_MEMCPY2D *c)
{
	return call_begin(__func__, NEED_CTX, "%zx%z", c->WidthInBytes, c->Height)
		       ?: call_end(on_2d(c, NULL, PT, false));
}

CUresult DS(cuMemcpy3D_v2)(const CUDA_MEMCPY3D *c)
{
	return call_begin(__func__, NEED_CTX, "%zx%zx%z", c->WidthInBytes, c->Height, c->Depth)
		       ?: call_end(on_3d(c, NULL, PT, false));
}

CUresult DS(cuMemcpy3DPeer)(const CUDA_MEMCPY3D_PEER *c)
{
	return call_begin(__func__, NEED_CTX, "%zx%zx%z", c->WidthInBytes, c->Height, c->Depth)
		       ?: call_end(on_3d_peer(c, NULL, PT, false));
}

CUresult SZ(cuMemcpyAsync)(CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream s)
{
	return call_begin(__func__, NEED_CTX, "%D %D %z %S", dst, src, n, s)
		       ?: call_end(on_linear(UVA, dst, UVA, src, n, s, PT, true));
}

CUresult SZ(cuMemcpyPeerAsync)(CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from,
			       size_t n, CUstream s)
{
	return call_begin(__func__, NEED_CTX, "%D %p %D %p %z %S", dst, to, src, from, n, s)
		       ?: call_end(on_linear(UVA, dst, UVA, src, n, s, PT, true));
}

CUresult SZ(cuMemcpyHtoDAsync_v2)(CUdeviceptr dst, const void *src, size_t n, CUstream s)
{
	return call_begin(__func__, NEED_CTX, "%D %H %z %S", dst, src, n, s)
		       ?: call_end(on_linear(DEV, dst, HOST, (uintptr_t)src, n, s, PT, true));
}

CUresult SZ(cuMemcpyDtoHAsync_v2)(void *dst, CUdeviceptr src, size_t n, CUstream s)
{
	return call_begin(__func__, NEED_CTX, "%H %D %z %S", dst, src, n, s)
		       ?: call_end(on_linear(HOST, (uintptr_t)dst, DEV, src, n, s, PT, true));
}

CUresult SZ(cuMemcpyDtoDAsync_v2)(CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream s)
{
	return call_begin(__func__, NEED_CTX, "%D %D %z %S", dst, src, n, s)
		       ?: call_end(on_linear(DEV, dst, DEV, src, n, s, PT, true));
}

CUresult SZ(cuMemcpyHtoAAsync_v2)(CUarray dst, size_t offset, const void *src, size_t n, CUstream s)
{
	return call_begin(__func__, NEED_CTX, "%p+%z %H %z %S", dst, offset, src, n, s)
		       ?: call_end(on_array(dst, offset, NULL, (uintptr_t)src, HOST, n, s, PT,
					    true));
}

CUresult SZ(cuMemcpyAtoHAsync_v2)(void *dst, CUarray src, size_t offset, size_t n, CUstream s)
{
	return call_begin(__func__, NEED_CTX, "%H %p+%z %z %S", dst, src, offset, n, s)
		       ?: call_end(on_array(NULL, (uintptr_t)dst, src, offset, HOST, n, s, PT,
					    true));
}

CUresult SZ(cuMemcpy2DAsync_v2)(const CUDA_MEMCPY2D *c, CUstream s)
{
	return call_begin(__func__, NEED_CTX, "%zx%z %S", c->WidthInBytes, c->Height, s)
		       ?: call_end(on_2d(c, s, PT, true));
}

CUresult SZ(cuMemcpy3DAsync_v2)(const CUDA_MEMCPY3D *c, CUstream s)
{
	return call_begin(__func__, NEED_CTX, "%zx%zx%z %S", c->WidthInBytes, c->Height, c->Depth,
			  s)
		       ?: call_end(on_3d(c, s, PT, true));
}

CUresult SZ(cuMemcpy3DPeerAsync)(const CUDA_MEMCPY3D_PEER *c, CUstream s)
{
	return call_begin(__func__, NEED_CTX, "%zx%zx%z %S", c->WidthInBytes, c->Height, c->Depth,
			  s)
		       ?: call_end(on_3d_peer(c, s, PT, true));
}

CUresult SZ(cuMemcpyBatchAsync)(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
				CUmemcpyAttributes *attrs, size_t *indices, size_t nattrs,
				size_t *fail, CUstream s)
{
	return call_begin(__func__, NEED_CTX, "%z %S", count, s)
		       ?: call_end(on_batch(dsts, srcs, sizes, count, attrs, indices, nattrs, fail,
					    s, PT));
}

CUresult SZ(cuMemcpyBatchAsync_v2)(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes,
				   size_t count, CUmemcpyAttributes *attrs, size_t *indices,
				   size_t nattrs, CUstream s)
{
	return call_begin(__func__, NEED_CTX, "%z %S", count, s)
		       ?: call_end(on_batch(dsts, srcs, sizes, count, attrs, indices, nattrs, NULL,
					    s, PT));
}

CUresult SZ(cuMemcpy3DBatchAsync)(size_t count, CUDA_MEMCPY3D_BATCH_OP *boxes, size_t *fail,
				  unsigned long long flags, CUstream s)
{
	return call_begin(__func__, NEED_CTX, "%z %z %S", count, (size_t)flags, s)
		       ?: call_end(on_batch_3d(count, boxes, fail, s, PT));
}

CUresult SZ(cuMemcpy3DBatchAsync_v2)(size_t count, CUDA_MEMCPY3D_BATCH_OP *boxes,
				     unsigned long long flags, CUstream s)
{
	return call_begin(__func__, NEED_CTX, "%z %z %S", count, (size_t)flags, s)
		       ?: call_end(on_batch_3d(count, boxes, NULL, s, PT));
}

CUresult DS(cuMemsetD8_v2)(CUdeviceptr dst, unsigned char v, size_t n)
{
	return call_begin(__func__, NEED_CTX, "%D %u %z", dst, (unsigned)v, n)
		       ?: call_end(on_fill((struct fill){ dst, n, n, 1, v, 1 }, NULL, PT, false));
}

CUresult DS(cuMemsetD16_v2)(CUdeviceptr dst, unsigned short v, size_t n)
{
	return call_begin(__func__, NEED_CTX, "%D %u %z", dst, (unsigned)v, n)
		       ?: call_end(on_fill((struct fill){ dst, n * 2, n, 1, v, 2 }, NULL, PT,
					   false));
}

CUresult DS(cuMemsetD32_v2)(CUdeviceptr dst, unsigned v, size_t n)
{
	return call_begin(__func__, NEED_CTX, "%D %u %z", dst, v, n)
		       ?: call_end(on_fill((struct fill){ dst, n * 4, n, 1, v, 4 }, NULL, PT,
					   false));
}

CUresult DS(cuMemsetD2D8_v2)(CUdeviceptr dst, size_t pitch, unsigned char v, size_t w, size_t h)
{
	return call_begin(__func__, NEED_CTX, "%D %z %u %zx%z", dst, pitch, (unsigned)v, w, h)
		       ?: call_end(on_fill((struct fill){ dst, pitch, w, h, v, 1 }, NULL, PT,
					   false));
}

CUresult DS(cuMemsetD2D16_v2)(CUdeviceptr dst, size_t pitch, unsigned short v, size_t w, size_t h)
{
	return call_begin(__func__, NEED_CTX, "%D %z %u %zx%z", dst, pitch, (unsigned)v, w, h)
		       ?: call_end(on_fill((struct fill){ dst, pitch, w, h, v, 2 }, NULL, PT,
					   false));
}

CUresult DS(cuMemsetD2D32_v2)(CUdeviceptr dst, size_t pitch, unsigned v, size_t w, size_t h)
{
	return call_begin(__func__, NEED_CTX, "%D %z %u %zx%z", dst, pitch, v, w, h)
		       ?: call_end(on_fill((struct fill){ dst, pitch, w, h, v, 4 }, NULL, PT,
					   false));
}

CUresult SZ(cuMemsetD8Async)(CUdeviceptr dst, unsigned char v, size_t n, CUstream s)
{
	return call_begin(__func__, NEED_CTX, "%D %u %z %S", dst, (unsigned)v, n, s)
		       ?: call_end(on_fill((struct fill){ dst, n, n, 1, v, 1 }, s, PT, true));
}

CUresult SZ(cuMemsetD16Async)(CUdeviceptr dst, unsigned short v, size_t n, CUstream s)
{
	return call_begin(__func__, NEED_CTX, "%D %u %z %S", dst, (unsigned)v, n, s)
		       ?: call_end(on_fill((struct fill){ dst, n * 2, n, 1, v, 2 }, s, PT, true));
}

CUresult SZ(cuMemsetD32Async)(CUdeviceptr dst, unsigned v, size_t n, CUstream s)
{
	return call_begin(__func__, NEED_CTX, "%D %u %z %S", dst, v, n, s)
		       ?: call_end(on_fill((struct fill){ dst, n * 4, n, 1, v, 4 }, s, PT, true));
}

CUresult SZ(cuMemsetD2D8Async)(CUdeviceptr dst, size_t pitch, unsigned char v, size_t w, size_t h,
			       CUstream s)
{
	return call_begin(__func__, NEED_CTX, "%D %u %zx%z %S", dst, (unsigned)v, w, h, s)
		       ?: call_end(on_fill((struct fill){ dst, pitch, w, h, v, 1 }, s, PT, true));
}

CUresult SZ(cuMemsetD2D16Async)(CUdeviceptr dst, size_t pitch, unsigned short v, size_t w, size_t h,
				CUstream s)
{
	return call_begin(__func__, NEED_CTX, "%D %u %zx%z %S", dst, (unsigned)v, w, h, s)
		       ?: call_end(on_fill((struct fill){ dst, pitch, w, h, v, 2 }, s, PT, true));
}

CUresult SZ(cuMemsetD2D32Async)(CUdeviceptr dst, size_t pitch, unsigned v, size_t w, size_t h,
				CUstream s)
{
	return call_begin(__func__, NEED_CTX, "%D %u %zx%z %S", dst, v, w, h, s)
		       ?: call_end(on_fill((struct fill){ dst, pitch, w, h, v, 4 }, s, PT, true));
}

#undef DEV
#undef HOST
#undef UVA
