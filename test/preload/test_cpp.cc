/*
 * test_cpp.cc - C++'s allocation functions reach the library's malloc() and free(), with all their
 * properties.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <memory_resource>
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

/* A thread's result, an exception across frames, and a string that outlives its creator. */
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

/* Memory resources that allocate large pieces and divide them. */
static bool pools()
{
	std::pmr::monotonic_buffer_resource once(1 << 20);
	std::pmr::unsynchronized_pool_resource pool(&once);
	std::pmr::synchronized_pool_resource shared;
	std::pmr::map<int, std::pmr::string> names(&pool);
	std::pmr::vector<double> numbers(&shared);

	for (int i = 0; i < 20000; i++) {
		names[i] = std::pmr::string((size_t)(i % 300), 'x', &pool);
		numbers.push_back(i);
	}
	for (int i = 0; i < 20000; i += 3)
		names.erase(i);
	for (int i = 1; i < 20000; i += 3)
		if (names[i].size() != (size_t)(i % 300) || numbers[(size_t)i] != i)
			return false;
	return true;
}

/* A vector that grows by doubling and shrinks, and a block that another thread frees. */
static bool moves_vectors()
{
	std::vector<std::unique_ptr<std::vector<char>>> made(16);
	std::vector<std::thread> threads;

	for (size_t i = 0; i < made.size(); i++)
		threads.emplace_back([&made, i] {
			auto mine = std::make_unique<std::vector<char>>();

			for (size_t n = 1; n <= 4 << 20; n *= 2)
				mine->resize(n, (char)i);
			mine->resize(3 << 20);
			mine->shrink_to_fit();
			made[i] = std::move(mine);
		});
	for (auto &thread : threads)
		thread.join();
	for (size_t i = 0; i < made.size(); i++)
		if (made[i]->size() != 3 << 20 || (i > 0 && made[i]->back() != (char)i))
			return false;
	return true;
}

int main()
{
	printf("1..7\n");
	check(grows(), "a vector that grows");
	check(refuses(), "bad_alloc and nothrow");
	check(aligns(), "aligned new");
	check(moves(), "strings, threads and exceptions");
	check(pairs(), "every new and its delete");
	check(pools(), "memory resources");
	check(moves_vectors(), "vectors of other threads");
	return failures != 0;
}
