/*
 * link.c - the speed and the width that both ends of a PCIe link are capable of.
 *
 * The files max_link_speed and max_link_width are those of drivers/pci/pci-sysfs.c.  The current
 * speed and width would not do: a device lowers them while it is idle.  The port above the device
 * may be capable of less.  A virtual machine may not show it, or show no link at all.
 */
#include "trace/collect/link.h"
#include "base/parse.h"
#include "base/procfile.h"

#include <string.h>

#define BUS_ID_ROOM 32
#define WIDTH_MOST  32u

struct end {
	uint64_t rate;  /* bytes per second at a width of 1; 0: unknown */
	uint64_t width; /* 0: unknown */
};

/*
 * Returns the bytes per second at a width of 1, from "32.0 GT/s PCIe", without the bits that encode
 * bytes, as PCIE_SPEED2MBS_ENC of drivers/pci/pci.h has them; 0: unknown.
 */
static uint64_t rate_of(const char *speed)
{
	static const struct {
		uint64_t transfers; /* 10^9 a second, without the fraction */
		uint64_t bytes;
	} rates[] = {
		{ 2, 250000000 },   { 5, 500000000 },   { 8, 984615385 },
		{ 16, 1969230769 }, { 32, 3938461538 }, { 64, 8000000000 },
	};
	uint64_t transfers = hp_procfile_number(speed);

	for (size_t i = 0; i < HP_LEN(rates); i++)
		if (rates[i].transfers == transfers)
			return rates[i].bytes;
	return 0;
}

static struct end read_end(const char *root, const char *bus_id, const char *folder)
{
	static const char devices[] = "/sys/bus/pci/devices/";
	const char *const speed[] = { root, devices, bus_id, folder, "max_link_speed", NULL };
	const char *const width[] = { root, devices, bus_id, folder, "max_link_width", NULL };
	char text[32];
	struct end end = { 0 };

	if (hp_procfile_read(text, sizeof(text), speed))
		end.rate = rate_of(text);
	if (hp_procfile_read(text, sizeof(text), width))
		end.width = hp_procfile_number(text);
	/* 255: unknown. */
	if (end.width > WIDTH_MOST)
		end.width = 0;
	return end;
}

/* Returns the lesser of two figures, of which the second may be unknown. */
static uint64_t lesser(uint64_t known, uint64_t other)
{
	return other != 0 && other < known ? other : known;
}

uint64_t link_rate(const char *root, const char *bus_id)
{
	char lower[BUS_ID_ROOM];
	size_t length = strlen(bus_id);

	if (length == 0 || length >= sizeof(lower))
		return 0;
	/* sysfs has lower-case digits, the driver has capital ones. */
	for (size_t i = 0; i <= length; i++)
		lower[i] = (char)(bus_id[i] >= 'A' && bus_id[i] <= 'F' ? bus_id[i] - 'A' + 'a'
								       : bus_id[i]);
	/* A name in `devices` is a link into the tree of buses, where the port is one level up. */
	struct end device = read_end(root, lower, "/"), port = read_end(root, lower, "/../");
	return lesser(device.rate, port.rate) * lesser(device.width, port.width);
}
