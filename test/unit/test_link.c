/*
 * test_link.c - the rate of a PCIe link, from made-up trees of files.
 */
#include "trace/collect/link.h"

#include "tree.h"

#include <errno.h>
#include <unistd.h>

#define DEVICE "/sys/devices/pci0000:16/0000:16:01.0/0000:1a:00.0/"
#define PORT   "/sys/devices/pci0000:16/0000:16:01.0/"

/* Makes a device and the port above it, as sysfs has them. */
static void make_link(const char *device_speed, const char *device_width, const char *port_speed,
		      const char *port_width)
{
	char link[300];

	make_tree();
	put(DEVICE "max_link_speed", device_speed);
	put(DEVICE "max_link_width", device_width);
	/* An idle device has lowered them. */
	put(DEVICE "current_link_speed", "2.5 GT/s PCIe\n");
	put(DEVICE "current_link_width", "4\n");
	put("/sys/bus/pci/devices/README", "");
	if (port_speed != NULL)
		put(PORT "max_link_speed", port_speed);
	if (port_width != NULL)
		put(PORT "max_link_width", port_width);
	snprintf(link, sizeof(link), "%s/sys/bus/pci/devices/0000:1a:00.0", root);
	CHECK_EQ(symlink("../../../devices/pci0000:16/0000:16:01.0/0000:1a:00.0", link), 0);
}

TEST(slower_end_decides)
{
	static const struct {
		const char *device_speed, *device_width, *port_speed, *port_width;
		uint64_t megabytes;
	} rows[] = {
		{ "32.0 GT/s PCIe\n", "16\n", "32.0 GT/s PCIe\n", "16\n", 63015 },
		{ "32.0 GT/s PCIe\n", "16\n", "16.0 GT/s PCIe\n", "16\n", 31507 },
		{ "16.0 GT/s PCIe\n", "16\n", "64.0 GT/s PCIe\n", "8\n", 15753 },
		{ "64.0 GT/s PCIe\n", "16\n", "64.0 GT/s PCIe\n", "16\n", 128000 },
		/* Linux 4.13 to 5.6 */
		{ "8 GT/s\n", "16\n", "5 GT/s\n", "16\n", 8000 },
		{ "2.5 GT/s\n", "1\n", "8 GT/s\n", "16\n", 250 },
		/* A virtual machine without the port, or without a link. */
		{ "32.0 GT/s PCIe\n", "16\n", NULL, NULL, 63015 },
		{ "32.0 GT/s PCIe\n", "16\n", "Unknown\n", "255\n", 63015 },
		{ "Unknown\n", "16\n", "8.0 GT/s PCIe\n", "16\n", 0 },
		{ "32.0 GT/s PCIe\n", "0\n", "32.0 GT/s PCIe\n", "16\n", 0 },
		{ "32.0 GT/s PCIe\n", "255\n", NULL, NULL, 0 },
		{ "32.0 GT/s PCIe\n", "", NULL, NULL, 0 },
		{ "128.0 GT/s PCIe\n", "16\n", NULL, NULL, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		make_link(rows[i].device_speed, rows[i].device_width, rows[i].port_speed,
			  rows[i].port_width);
		errno = 55;
		CHECK_EQ(link_rate(root, "0000:1A:00.0") / 1000000, rows[i].megabytes);
		CHECK_EQ(errno, 55);
	}
}

TEST(no_such_device)
{
	make_tree();
	CHECK_EQ(link_rate(root, "0000:1A:00.0"), 0);
	CHECK_EQ(link_rate(root, ""), 0);
	CHECK_EQ(link_rate(root, "0000:1A:00.0, and more than any bus id has"), 0);
}

CHECK_MAIN()
