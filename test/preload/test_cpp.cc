/*
 * test_cpp.cc - every new and delete of C++ reaches the library's malloc() and free().
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

static int failures;

static void check(bool holds, const char *what)
{
	static int count;

	printf("%sok %d - %s\n", holds ? "" : "not ", ++count, what);
	failures += !holds;
}

static bool refuses()
{
	volatile size_t much = (size_t)1 << 62;

	try {
		delete[] new char[much];
	} catch (const std::bad_alloc &) {
		return new (std::nothrow) char[much] == nullptr;
	}
	return false;
}

/* Every form of new and of delete, from one byte to 5 MiB. */
static bool pairs()
{
	bool right = true;

	for (size_t n = 1; n < 5 << 20; n = n * 3 + 1) {
		auto line = std::align_val_t{ (size_t)64 << n % 8 };
		char *plain = static_cast<char *>(operator new(n));
		char *array = static_cast<char *>(operator new[](n, std::nothrow));
		char *aligned = static_cast<char *>(operator new(n, line));
		char *both = static_cast<char *>(operator new[](n, line, std::nothrow));

		right = right && (size_t)aligned % (size_t)line == 0 &&
			(size_t)both % (size_t)line == 0;
		memset(plain, 1, n);
		memset(array, 2, n);
		memset(aligned, 3, n);
		memset(both, 4, n);
		right = right && plain[n - 1] == 1 && array[0] == 2 && aligned[n / 2] == 3 &&
			both[n - 1] == 4;
		operator delete(plain, n);
		operator delete[](array);
		operator delete(aligned, n, line);
		operator delete[](both, line);
	}
	return right;
}

int main()
{
	printf("1..2\n");
	check(refuses(), "bad_alloc and nothrow");
	check(pairs(), "every new and its delete");
	return failures != 0;
}
