#!/usr/bin/env python3
"""Prints what each file is for: the first sentence of the comment on its top.

usage: tests/tidy/map.py [FOLDER...]     make map ROOM=FOLDER; all folders if none is given
"""
import re
import subprocess
import sys

COLUMNS = 120
SOURCES = ("*.h", "*.c", "*.cpp", "*.def", "*.fbs")


def first_sentence(text):
    """Of the comment on top, without the name of the file that it begins with."""
    match = re.match(r"/\*(.*?)\*/|((?://[^\n]*\n)+)", text, re.S)
    comment = " ".join(re.sub(r"^\s*(?:\*|//) ?", "", line)
                       for line in (match.group(1) or match.group(2)).split("\n")) if match else ""
    comment = re.sub(r"\s+", " ", comment).strip()
    comment = re.sub(r"^[\w., ]*\.(?:c|h|cpp|def|fbs):\s*", "", comment)
    return re.split(r"(?<=[^.]\.)\s|;\s|\s+Layer:", comment)[0].rstrip(".;")


def main():
    folders = sys.argv[1:] or ["shared", "protocol", "server", "client"]
    tracked = subprocess.run(["git", "ls-files", "--", *folders], capture_output=True, text=True,
                             check=True).stdout.split()
    shown, room = set(), None
    for path in sorted(tracked, key=lambda p: (p.rpartition("/")[0], p.rpartition(".")[0],
                                               not p.endswith(".h"))):
        folder, _, name = path.rpartition("/")
        stem = path.rpartition(".")[0]
        if not name.endswith(tuple(s[1:] for s in SOURCES)) or stem in shown:
            continue
        shown.add(stem)  # a header speaks for its source
        if folder != room:
            print(f"\n{folder}/" if room else f"{folder}/")
            room = folder
        with open(path, encoding="utf-8") as file:
            line = f"    {name:26} {first_sentence(file.read())}"
        print(line if len(line) <= COLUMNS else line[:COLUMNS - 1] + "…")


if __name__ == "__main__":
    main()
