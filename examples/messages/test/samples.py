# Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
"""Files for the checks and pictures: the sample attachments, archives of mail, and large ones that hold nothing."""

import pathlib
import tempfile
import zipfile

FILES = pathlib.Path(__file__).parent.parent / "Backend/Seed/files"
FOLDER = tempfile.TemporaryDirectory(prefix="messages-files-")


def path(name: str) -> pathlib.Path:
    return FILES / name


def made(name: str, size: int) -> pathlib.Path:
    file = pathlib.Path(FOLDER.name) / name
    with open(file, "wb") as out:
        out.truncate(size)
    return file


def letter(number: int, text: str = "") -> bytes:
    return (f"From: Old Friend <friend@old.example>\r\nTo: camille.moreau@ville.example\r\nSubject: Letter {number}\r\n"
            f"Date: Tue, 3 Mar 2015 09:{number % 60:02}:00 +0100\r\nMessage-ID: <letter-{number}@old.example>\r\n\r\n"
            f"Letter number {number}.\r\n{text}").encode()


def mbox(count: int, broken: bool = False) -> pathlib.Path:
    """`count` letters; the second has a line that looks like a beginning; broken: the third is no message."""
    file = pathlib.Path(FOLDER.name) / f"letters-{count}{'-broken' if broken else ''}.mbox"
    parts = []
    for number in range(1, count + 1):
        text = letter(number, ">From the window I see the sea.\r\nFrom here, too.\r\n" if number == 2 else "")
        if broken and number == 3:
            text = b"no header at all\r\n"
        parts.append(b"From friend@old.example Tue Mar  3 09:00:00 2015\r\n" + text + b"\r\n")
    file.write_bytes(b"".join(parts))
    return file


def archive(name: str, entries: dict[str, bytes], method=zipfile.ZIP_DEFLATED) -> pathlib.Path:
    file = pathlib.Path(FOLDER.name) / name
    with zipfile.ZipFile(file, "w", method) as out:
        for entry, data in entries.items():
            out.writestr(entry, data)
    return file
