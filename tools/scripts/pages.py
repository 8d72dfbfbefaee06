#!/usr/bin/env python3
"""Writes the manual pages and the completions of bash from the help of the commands.

    pages.py HOTPIN VERSION OUTPUT...

Each OUTPUT is hotpin.1, hotpin-COMMAND.1 or hotpin (for bash); none may be missing.  A line of help that
begins with two blanks and a hyphen describes an option.  Below it, a line `WORD  text` describes a value.
"""
import os
import re
import subprocess
import sys

HOTPIN, VERSION = sys.argv[1:3]
FILES = ("FILE", "PAGE", "CSV", "TRACE", "PREFIX")


def output_of(*words):
    return subprocess.run([HOTPIN, *words], check=True, capture_output=True, text=True).stdout


def filled(name, **parts):
    """Returns the file next to this one, with text in place of each @PART@."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name), encoding="utf-8") as file:
        text = file.read()
    for part, content in parts.items():
        text = re.sub(rf"@{part}@\n?" if content.endswith("\n") else f"@{part}@", lambda _: content, text)
    return text


class Option:
    """An option, from its first line of help."""

    def __init__(self, syntax, text):
        self.syntax, self.lines, self.values = syntax, [text], []
        self.flags = re.findall(r"(?<![\w-])--?[a-z]+", syntax)
        self.is_optional = "[=" in syntax
        self.argument = re.sub(r"^.*?--[a-z]+[ \[=]*|\]", "", syntax) if re.search(r"--[a-z]+[ \[]", syntax) else ""
        if "|" in self.argument or self.is_optional:
            self.values = [(word, "") for word in self.argument.split("|")]

    def add(self, line):
        value = re.match(r" {20,}(\S+)  +(.*)", line)
        if value:
            self.values.append(value.groups())
        elif line.startswith(" " * 30) and self.values and self.values[-1][1]:
            self.values[-1] = (self.values[-1][0], f"{self.values[-1][1]} {line.strip()}")
        else:
            self.lines.append(line.strip())

    @property
    def text(self):
        return " ".join(filter(None, self.lines))

    @property
    def words(self):
        """The values that a shell offers: `nvtx:` of `nvtx:NAME`."""
        return [re.sub(r"[A-Z]+$", "", word) for word, _ in self.values]


class Command:
    """A command, from its help."""

    def __init__(self, name, does):
        self.name, self.does, self.options, self.paragraphs = name, does, [], [""]
        head, _, rest = output_of(name, "--help").partition("\n\n")
        body, _, rest = rest.partition("\nExit status:\n")
        exits, _, example = rest.partition("\nExample: ")
        self.takes = head.removeprefix(f"usage: hotpin {name} ")
        self.exits = read_exits(exits)
        self.example = example.strip()
        for line in body.splitlines():
            option = re.match(r"  (-\S+(?: \S+)*)(?:  +(.*))?$", line)
            if option:
                self.options.append(Option(option[1], option[2] or ""))
            elif line.startswith("   "):
                self.options[-1].add(line)
            elif line == "":
                self.paragraphs.append("")
            else:
                self.paragraphs[-1] += line + "\n"
        self.options.append(Option("--help", "print this help"))

    @property
    def runs(self):
        return "PROGRAM" in self.takes


def read_exits(text):
    """Returns pairs of a status and its meaning."""
    rows = []
    for line in text.splitlines():
        status, meaning = line[:5].strip(), line[7:]
        if status:
            rows.append((status, [meaning]))
        elif line:
            rows[-1][1].append(meaning)
    return rows


def troff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    text = re.sub(r"`([^`]*)`", r"\\fB\1\\fP", text)
    text = re.sub(r"\b([A-Z]{3,})\b(?!\\fP)", lambda word: f"\\fI{word[1]}\\fP"
                  if word[1] in FILES + ("DIR", "PROGRAM", "PERCENT", "LABEL", "RANGE", "TABLE") else word[1], text)
    return re.sub(r"^\.", r"\\&.", text, flags=re.MULTILINE)


MARKS = {"# ": ".SH ", "- ": ".TP\n", "    ": ".br\n", "{": ".RS", "}": ".RE"}


def typeset(text):
    """Returns a page in troff.  MARKS begin a section, a term, a line of its own, and what is indented."""
    out = ""
    for line in text.splitlines():
        mark = next(filter(line.startswith, MARKS), "")
        out += (MARKS.get(mark, "") + troff(line[len(mark):]) if line else ".PP") + "\n"
    return re.sub(r"([\w\\.-]+)(\(\d\))", r"\\fB\1\\fP\2", out)


def item(tag, text):
    return f"- `{tag}`\n{text}\n"


def head(name, section, title):
    return f'.TH {name.upper()} {section} "" "hotpin {VERSION}" "{title}"\n'


def page(command):
    out = f"# NAME\nhotpin-{command.name} - {command.does}\n# SYNOPSIS\n`hotpin {command.name}` {command.takes}\n"
    out += "# DESCRIPTION\n"
    out += "\n".join(filter(None, command.paragraphs)) or f"{command.does.capitalize()}.\n"
    out += "# OPTIONS\n"
    for option in command.options:
        out += item(option.syntax, option.text)
        described = [value for value in option.values if value[1]]
        if described:
            out += "{\n" + "".join(item(*value) for value in described) + "}\n"
    out += "# EXIT STATUS\n" + "".join(item(status, "; ".join(means)) for status, means in command.exits)
    out += f"# EXAMPLE\n    {command.example}\n# SEE ALSO\nhotpin(1)\n"
    return head(f"hotpin\\-{command.name}", 1, "User Commands") + typeset(out)


def overview(commands):
    out = "# NAME\nhotpin - faster host-device copies for unmodified CUDA programs, and their profiles\n# SYNOPSIS\n"
    out += "    `hotpin` command [argument ...]\n    `hotpin help` [command]\n    `hotpin` --help | --version\n"
    out += "# DESCRIPTION\n`hotpin run` preloads `libhotpin.so` into a CUDA program, which needs no rebuild.\n"
    out += "The other commands read the profiles that it writes.\n# COMMANDS\n"
    out += "".join(f"- hotpin-{command.name}(1)\n{command.does}\n" for command in commands) + "# EXIT STATUS\n"
    text = re.search(r"\nExit status:\n(.*?)\n\n", output_of("--help"), re.DOTALL)[1]
    for status, means in read_exits(text):
        out += item(status, "; ".join(re.sub(r"^(.{13})  ", lambda of: f"{of[1].strip()}: ", line) for line in means))
    out += "# EXAMPLES\n" + "".join(f"    {command.example}\n" for command in commands)
    return head("hotpin", 1, "User Commands") + typeset(out + "# SEE ALSO\nhotpin-run(1), ld.so(8)\n")


def kind_of(option):
    """What bash completes behind the option: file, dir, any, or words."""
    if option.values:
        return " ".join(option.words)
    return {"": "", "DIR": "dir"}.get(option.argument, "file" if option.argument in FILES else "any")


def bash(commands):
    flags = values = ""
    for command in commands:
        words = []
        for option in command.options:
            words.append(option.flags[-1])
            if option.is_optional:
                words += [f"{option.flags[-1]}={word}" for word in option.words]
            keys = [f"{command.name}:{option.flags[-1]}="]
            if not option.is_optional:
                keys += [f"{command.name}:{flag}" for flag in option.flags]
            if kind_of(option):
                values += f"\t{' | '.join(keys)}) echo '{kind_of(option)}' ;;\n"
        flags += f"\t{command.name}) echo '{' '.join(words)}' ;;\n"
    return filled("completion.bash.in", FLAGS=flags, VALUES=values,
                  COMMANDS=" ".join(command.name for command in commands) + " help",
                  RUN=" | ".join(command.name for command in commands if command.runs))


def main():
    commands = [Command(*row) for row in re.findall(r"^  ([a-z]+) +(.*)$", output_of("--help"), re.MULTILINE)]
    made = {f"hotpin-{command.name}.1": page(command) for command in commands}
    made |= {"hotpin.1": overview(commands), "hotpin": bash(commands)}
    wanted = {os.path.basename(path): path for path in sys.argv[3:]}
    if wanted.keys() != made.keys():
        sys.exit(f"pages.py: these files are only made, or only wanted: {sorted(wanted.keys() ^ made.keys())}")
    for name, path in wanted.items():
        with open(path, "w", encoding="utf-8") as file:
            file.write(made[name])


main()
