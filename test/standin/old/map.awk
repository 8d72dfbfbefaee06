# The version script of a driver of CUDA 11.5: of entry.def what that had.
BEGIN {
	FS = "[(), ]+"
	print "{"
	print "\tglobal: cu*; standin_*;"
	print "\tlocal: *;"
}
$1 == "ENTRY" && $4 > 11050 { print "\t\t" $2 ";" }
END { print "};" }
