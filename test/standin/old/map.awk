# Writes the version script of a CUDA 11.5 driver: the entries of entry.def that it had.
BEGIN {
	FS = "[(), ]+"
	print "{"
	print "\tglobal: cu*; standin_*;"
	print "\tlocal: *;"
}
$1 ~ /^(ENTRY|CALL|CALL_DS|CALL_SZ)$/ && $4 > 11050 { print "\t\t" $2 ";" }
$1 == "CALL_DS" && $5 > 11050 { print "\t\t" $2 "_ptds;" }
$1 == "CALL_SZ" && $5 > 11050 { print "\t\t" $2 "_ptsz;" }
END { print "};" }
