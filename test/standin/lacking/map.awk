# Writes the version script of a driver without the functions in `hidden`.
BEGIN {
	print "{"
	print "\tglobal: cu*; standin_*;"
	print "\tlocal: *;"
	count = split(hidden, names, " ")
	for (i = 1; i <= count; i++)
		print "\t\t" names[i] ";"
	print "};"
}
