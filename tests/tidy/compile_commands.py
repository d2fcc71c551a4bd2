#!/usr/bin/env python3
"""Prints compile_commands.json for the tracked C and C++ files; `make compile_commands.json` gives
the compilers and their flags in CC, CXX, CPPFLAGS, CFLAGS and CXXFLAGS."""
import json
import os
import subprocess

flags = {
    ".c": " ".join(os.environ[name] for name in ("CC", "CPPFLAGS", "CFLAGS")),
    ".cpp": " ".join(os.environ[name] for name in ("CXX", "CPPFLAGS", "CXXFLAGS")),
}
files = subprocess.run(["git", "ls-files", "*.c", "*.cpp"], capture_output=True, text=True, check=True)
commands = []
for path in files.stdout.split():
    command = flags[os.path.splitext(path)[1]]
    commands.append({"directory": os.getcwd(), "file": path, "command": f"{command} -c {path}"})
print(json.dumps(commands, indent=1))
