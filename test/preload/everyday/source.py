"""source.py - writes a C source with so many functions to stdout, always the same for the same
number.

    source.py FUNCTIONS

A function is about 1.1 KB of text: loops, tables, structures, and calls of earlier functions.  So
every pass of a compiler has work, and the tables of its inliner and allocator grow large.
"""

import sys

count = int(sys.argv[1])
state = 20200101


def pick(most):
    global state
    state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
    return (state >> 33) % most


out = ["struct pair { long key; double value; const char *name; struct pair *next; };\n"]
for i in range(count):
    words = ", ".join('"%s"' % ("w%x" % pick(1 << 30) * (1 + pick(3))) for _ in range(8))
    numbers = ", ".join(str(pick(1 << 30)) for _ in range(16))
    cases = "".join(
        "\tcase %d: total += table%d[(n + %d) %% 16] ^ %d; break;\n" % (n, i, pick(16), pick(9999))
        for n in range(6)
    )
    call = "total += step%d(n - %d, here);" % (i - 1 - pick(min(i, 9)), 1 + pick(5)) if i else ";"
    out.append(
        "static const int table%d[16] = { %s };\n"
        "static const char *const names%d[8] = { %s };\n"
        "long step%d(long n, struct pair *here)\n{\n"
        "\tlong total = %d;\n\tdouble sum = 0;\n"
        "\tif (n < 0)\n\t\treturn here ? here->key : n;\n"
        "\tfor (long i = 0; i < n %% %d; i++) {\n"
        "\t\tsum += table%d[i %% 16] * (double)i / %d;\n"
        "\t\tif (here && here->next) {\n\t\t\there->value += sum;\n\t\t\there = here->next;\n\t\t}\n"
        "\t}\n\tswitch (n %% 7) {\n%s\tdefault: total += (long)sum;\n\t}\n"
        "\t%s\n\tif (here)\n\t\there->name = names%d[total & 7];\n\treturn total;\n}\n"
        % (i, numbers, i, words, i, pick(1 << 30), 20 + pick(50), i, 1 + pick(99), cases, call, i)
    )
out.append("int main(int count, char **names)\n{\n\tstruct pair here = { count, 1, names[0], 0 };\n")
out.append("\treturn (int)(step%d(count * 40L, &here) & 127);\n}\n" % (count - 1))
sys.stdout.write("".join(out))
