/*
 * test_cpp.cc - C++'s allocation functions end in ours, and nothing of them is lost on the way.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static int failures;

static void check(bool holds, const char *what)
{
	static int count;

	printf("%sok %d - %s\n", holds ? "" : "not ", ++count, what);
	failures += !holds;
}

struct alignas(4096) Page {
	char bytes[3 << 20];
};

static bool grows()
{
	std::vector<int> numbers;

	for (int i = 0; i < 4000000; i++)
		numbers.push_back(i);
	for (int i = 0; i < 4000000; i++)
		if (numbers[(size_t)i] != i)
			return false;
	numbers.shrink_to_fit();
	return numbers.back() == 3999999;
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

static bool aligns()
{
	auto page = std::make_unique<Page>();
	std::vector<std::unique_ptr<Page>> pages(8);

	for (auto &one : pages)
		one = std::make_unique<Page>();
	memset(page->bytes, 1, sizeof(page->bytes));
	return (size_t)page.get() % 4096 == 0 && (size_t)pages[7].get() % 4096 == 0;
}

/* A thread's result, an exception across frames and a string that outlives its maker. */
static bool moves()
{
	std::string made;

	std::thread([&] { made.assign(2 << 20, 'x'); }).join();
	try {
		throw std::runtime_error(made);
	} catch (const std::exception &error) {
		return strlen(error.what()) == 2 << 20;
	}
}

int main()
{
	printf("1..4\n");
	check(grows(), "a vector that grows");
	check(refuses(), "bad_alloc and nothrow");
	check(aligns(), "aligned new");
	check(moves(), "strings, threads and exceptions");
	return failures != 0;
}
