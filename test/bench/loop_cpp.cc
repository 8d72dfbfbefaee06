/*
 * loop_cpp.cc - loop.c with C++ allocations: `new float[]` and `std::vector<float>`.
 *
 *	loop_cpp new|new-pinned|vector|vector-pinned SIZE...
 *
 * A vector clears the memory that it allocates, also with the allocator that returns the pinned
 * buffer.
 */
#include "loop.h"

#include <new>
#include <vector>

/* Returns the same buffer for every allocation. */
template <typename T> struct kept_allocator {
	typedef T value_type;
	void *kept;

	explicit kept_allocator(void *buffer) : kept(buffer)
	{
	}
	T *allocate(size_t)
	{
		return static_cast<T *>(kept);
	}
	void deallocate(T *, size_t)
	{
	}
	bool operator==(const kept_allocator &other) const
	{
		return kept == other.kept;
	}
	bool operator!=(const kept_allocator &other) const
	{
		return kept != other.kept;
	}
};

static std::vector<float> plain;
static std::vector<float, kept_allocator<float>> *hand_tuned;

static void *take_new(size_t bytes, void *)
{
	return new float[bytes / sizeof(float)];
}

static void drop_new(void *memory)
{
	delete[] static_cast<float *>(memory);
}

static void *take_kept(size_t bytes, void *kept)
{
	return new (kept) float[bytes / sizeof(float)];
}

static void drop_kept(void *)
{
}

static void *take_vector(size_t bytes, void *)
{
	plain = std::vector<float>(bytes / sizeof(float));
	return plain.data();
}

static void drop_vector(void *)
{
	std::vector<float>().swap(plain);
}

static void *take_kept_vector(size_t bytes, void *kept)
{
	hand_tuned = new std::vector<float, kept_allocator<float>>(bytes / sizeof(float),
								kept_allocator<float>(kept));
	return hand_tuned->data();
}

static void drop_kept_vector(void *)
{
	delete hand_tuned;
}

int main(int argc, char **argv)
{
	static const struct loop_kind kinds[] = {
		{ "new", 0, take_new, drop_new },
		{ "new-pinned", 1, take_kept, drop_kept },
		{ "vector", 0, take_vector, drop_vector },
		{ "vector-pinned", 1, take_kept_vector, drop_kept_vector },
	};

	return loop_main(kinds, sizeof(kinds) / sizeof(*kinds), argc, argv);
}
