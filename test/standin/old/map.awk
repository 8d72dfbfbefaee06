# Writes the version script of a CUDA 11.5 driver: the entries of entry.def that it had.
BEGIN {
	FS = "[(), ]+"
	print "{"
	print "\tglobal: cu*; standin_*;"
	print "\tlocal: *;"
}
$1 == "ENTRY" && $4 > 11050 { print "\t\t" $2 ";" }
END { print "};" }
