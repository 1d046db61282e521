#!/usr/bin/env python3
# Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
"""Writes the fuzzing corpus of the release formats: manifests, key sets, archives, patches and seals as they should be, and one of each kind that
should not. Made without our own code, by Python, openssl and zstd, from fixed keys: run again, it writes the same bytes.

usage: Tests/Fuzz/release_corpus.py          (files that it did not name, such as findings, are left alone)"""
import base64, hashlib, io, json, os, pathlib, random, struct, subprocess, tempfile, zipfile, zlib

FOLDER = pathlib.Path(__file__).resolve().parent / "corpus"
NOW = 1_800_000_000_000
APP, CHANNEL = "org.example.app", "production"


def put(target, name, data):
    folder = FOLDER / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())


def compact(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def tool(*command, data=b""):
    return subprocess.run(command, input=data, capture_output=True, check=True).stdout


# Keys ------------------------------------------------------------------------------------------------------------------------------------------

class Signer:
    """An Ed25519 key of a seed of one repeated byte, through openssl."""

    def __init__(self, byte):
        self.file = pathlib.Path(tempfile.mkdtemp()) / "key.der"
        self.file.write_bytes(bytes.fromhex("302e020100300506032b657004220420") + bytes([byte]) * 32)
        self.public = tool("openssl", "pkey", "-inform", "DER", "-in", str(self.file), "-pubout", "-outform", "DER")[-32:]
        self.name = hashlib.sha256(self.public).hexdigest()[:16]
        self.base64 = base64.b64encode(self.public).decode()

    def sign(self, message):
        with tempfile.NamedTemporaryFile() as file:
            file.write(message)
            file.flush()
            return tool("openssl", "pkeyutl", "-sign", "-rawin", "-keyform", "DER", "-inkey", str(self.file), "-in", file.name)


ROOT, OTHER_ROOT, RELEASE, FRESHNESS = (Signer(byte) for byte in (1, 2, 3, 4))


def prime(rng, bits):
    while True:
        number = rng.getrandbits(bits) | 3 << (bits - 2) | 1
        if all(number % small for small in range(3, 2000, 2)) and (number - 1) % 65537 \
                and all(pow(witness, number - 1, number) == 1 for witness in (2, 3, 5, 7)):
            return number


class RSA:
    """RSA-2048 by its definition, so that a type-1 block is made by hand: 00 01 FF ... FF 00 payload."""

    def __init__(self, seed):
        rng = random.Random(seed)
        p, q = prime(rng, 1024), prime(rng, 1024)
        self.n, self.d = p * q, pow(65537, -1, (p - 1) * (q - 1))

    def raise_(self, block):
        return pow(int.from_bytes(block, "big"), self.d, self.n).to_bytes(256, "big")

    def block(self, payload):
        return self.raise_(b"\x00\x01" + b"\xff" * (253 - len(payload)) + b"\x00" + payload)


KEY, STRANGER = RSA("nacre"), RSA("stranger")


def envelope(payload, purpose, *keys):
    message = purpose + b" 1\n" + payload
    return {"payload": base64.b64encode(payload).decode(),
            "signatures": [{"key": key.name, "alg": "Ed25519", "sig": base64.b64encode(key.sign(message)).decode()} for key in keys]}


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


# What is signed --------------------------------------------------------------------------------------------------------------------------------

def payload(**changes):
    value = {
        "spec": 1, "app": APP, "channel": CHANNEL, "platforms": ["linux"], "sequence": 7, "keyEpoch": 1, "storageEpoch": 0, "resetStorage": False,
        "version": "1.4.2", "issued": NOW, "expires": NOW + 3_600_000, "native": {"min": "1.0", "below": "2.0"},
        "rollout": {"basisPoints": 10000, "salt": None}, "rollbackOf": None,
        "tree": {"sha256": digest("tree"), "files": 2, "bytes": 30, "listBytes": 150}, "archive": {"sha256": digest("zip"), "size": 300},
        "objects": True, "patches": [{"alg": "zstd-tree-1", "base": digest("base"), "sha256": digest("patch"), "size": 5}], "revoked": []}
    value.update(changes)
    return {key: item for key, item in value.items() if item != "missing"}


def payloads():
    cases = {
        "00-usual": payload(), "01-rollback": payload(rollbackOf=3, rollout={"basisPoints": 250, "salt": "autumn"}, revoked=[digest("bad")]),
        "02-sparse": payload(platforms="missing", rollbackOf="missing", patches="missing", revoked="missing", resetStorage="missing", objects="missing",
                             native={}, rollout={"basisPoints": 0}),
        "03-more": payload(mood="good", resetStorage=True), "04-spec-2": payload(spec=2), "05-sequence-0": payload(sequence=0),
        "06-sequence-2-53": payload(sequence=2**53), "07-sequence-text": payload(sequence="7"), "08-no-app": payload(app="missing"),
        "09-empty-app": payload(app=""), "10-control": payload(app="a\u0001"), "11-long-app": payload(app="a" * 201),
        "12-channel-path": payload(channel="../x"), "13-version-path": payload(version=".hidden"), "14-version-slash": payload(version="1/2"),
        "15-platform-number": payload(platforms=[1]), "16-platforms-many": payload(platforms=["p"] * 17), "17-native-text": payload(native={"min": "x"}),
        "18-native-list": payload(native=[]), "19-rollout-many": payload(rollout={"basisPoints": 10001}), "20-upper-digest": payload(
            tree={"sha256": digest("tree").upper(), "files": 2, "bytes": 30, "listBytes": 150}),
        "21-negative-size": payload(archive={"sha256": digest("zip"), "size": -1}), "22-patch-text": payload(patches=["x"]),
        "23-patch-alg": payload(patches=[{"alg": "", "base": digest("b"), "sha256": digest("p"), "size": 1}]),
        "24-revoked-short": payload(revoked=["ab"]), "25-objects-number": payload(objects=1), "26-rollback-negative": payload(rollbackOf=-1),
        "27-other-app": payload(app="org.example.other"), "28-other-channel": payload(channel="beta"), "29-other-platform": payload(platforms=["ios"]),
        "30-epoch": payload(keyEpoch=2), "31-expired": payload(expires=NOW), "32-native-new": payload(native={"min": "9"}),
        "33-revoked-itself": payload(revoked=[digest("tree")]), "34-old-sequence": payload(sequence=3), "35-running": payload(
            tree={"sha256": digest("running"), "files": 1, "bytes": 1, "listBytes": 70}),
        "36-no-room": payload(archive={"sha256": digest("zip"), "size": 2**52}), "37-failed": payload(
            tree={"sha256": digest("failed"), "files": 1, "bytes": 1, "listBytes": 70}),
        "38-not-yet": payload(rollout={"basisPoints": 4999, "salt": "s"}), "39-seen-sequence": payload(sequence=5),
        "40-all-platforms": payload(platforms=[]), "41-fraction": payload(issued=0.5), "42-largest": payload(sequence=2**53 - 1),
    }
    for name, value in cases.items():
        put("release-payload", name, compact(value))
    text = compact(payload()).decode()
    put("release-payload", "50-app-twice", text.replace('{"app":', '{"app":"x","app":', 1))
    put("release-payload", "51-no-object", "[]")
    put("release-payload", "52-no-json", text[:-1])
    put("release-payload", "53-spaced", json.dumps(payload(), indent=1))
    # Smaller ones, for the fuzzer to grow.
    put("release-payload", "54-nothing", "{}")
    put("release-payload", "55-spec-only", '{"spec":1}')


def manifests():
    signed = compact(payload())
    whole = {"version": "1.4.2", "url": "https://b.example/channels/production/bundles/1.4.2.zip", "checksum": "ab", "sessionKey": "cd", "sequence": 7,
             "publishedAt": "2027-01-15T08:00:00Z", "nacre": envelope(signed, b"nacre release", RELEASE)}

    def changed(**changes):
        return {key: item for key, item in {**whole, **changes}.items() if item != "missing"}
    plain = {key: item for key, item in whole.items() if key != "nacre"}
    cases = {
        "00-signed": whole, "01-of-the-source-system": plain, "02-of-old": {"version": "1.4.2", "url": "https://b.example/x.zip", "checksum": "ab",
                                                                            "sessionKey": "cd"},
        "03-nulls": {**plain, "sequence": None, "publishedAt": None, "nacre": None, "checksum": None, "sessionKey": None},
        "04-no-version": changed(version="missing"), "05-no-url": changed(url="missing"), "06-empty-version": changed(version=""),
        "07-empty-url": changed(url=""), "08-version-number": changed(version=1), "09-url-list": changed(url=[]),
        "10-checksum-number": changed(checksum=1), "11-long-version": changed(version="1" * 101), "12-sequence-2-53": changed(sequence=2**53),
        "13-sequence-text": changed(sequence="7"), "14-sequence-negative": changed(sequence=-1), "15-sequence-fraction": changed(sequence=7.5),
        "16-date-number": changed(publishedAt=1), "17-http": changed(url="http://b.example/x.zip"), "18-control": changed(url="https://b.example/\n"),
        "19-other-version": changed(version="9.9.9"), "20-other-sequence": changed(sequence=8),
        "21-freshness-purpose": changed(nacre=envelope(signed, b"nacre freshness", RELEASE)),
        "22-freshness-key": changed(nacre=envelope(signed, b"nacre release", FRESHNESS)),
        "23-two-signers": changed(nacre=envelope(signed, b"nacre release", FRESHNESS, RELEASE)),
        "24-signed-and-old": changed(sequence="missing"), "25-empty-seal": changed(checksum="", sessionKey=""),
        "26-envelope-text": changed(nacre="x"), "27-envelope-empty": changed(nacre={}),
        "28-signed-nonsense": changed(nacre=envelope(b"{}", b"nacre release", RELEASE)),
        "29-fourth-of-old": {"version": "nightly", "url": "https://b.example/x.zip", "checksum": "ab", "sessionKey": "cd"},
    }
    for name, value in cases.items():
        put("release-manifest", name, compact(value))
    put("release-manifest", "40-checksum-twice", compact(plain).decode().replace("{", '{"checksum":"",', 1))
    put("release-manifest", "41-no-object", "[]")
    put("release-manifest", "42-cut", compact(whole)[:-1])
    put("release-manifest", "43-small", '{"url":"https://a","version":"1"}')


def envelopes():
    payload = b"what is signed"
    whole = envelope(payload, b"nacre release", RELEASE, ROOT)
    one = whole["signatures"][0]

    def changed(**changes):
        return {key: item for key, item in {**whole, **changes}.items() if item != "missing"}
    cases = {
        "00-two": whole, "01-key-set": envelope(payload, b"nacre key set", ROOT), "02-freshness": envelope(payload, b"nacre freshness", FRESHNESS),
        "03-later-algorithm": changed(signatures=[{**one, "alg": "ML-DSA"}]), "04-no-payload": changed(payload="missing"),
        "05-payload-number": changed(payload=1), "06-payload-url64": changed(payload="-_-_"), "07-no-signatures": changed(signatures=[]),
        "08-many": changed(signatures=[one] * 17), "09-more": changed(more=1), "10-signature-more": changed(signatures=[{**one, "more": 1}]),
        "11-no-sig": changed(signatures=[{"key": "k", "alg": "Ed25519"}]), "12-sig-number": changed(signatures=[{**one, "sig": 1}]),
        "13-text": changed(signatures="x"), "14-signature-text": changed(signatures=["x"]), "15-changed": changed(payload="eA=="),
        "16-key-number": changed(signatures=[{**one, "key": 1}]), "17-empty": changed(payload=""), "18-other-name": changed(
            signatures=[{**one, "key": ROOT.name}]), "19-stray-bits": changed(payload="eB=="), "20-twice": changed(signatures=[one, one]),
    }
    for name, value in cases.items():
        put("release-envelope", name, compact(value))
    put("release-envelope", "30-no-object", "null")
    put("release-envelope", "31-no-json", "{")
    put("release-envelope", "32-small", '{"payload":"eA==","signatures":[{"alg":"x","key":"k","sig":""}]}')


def key_sets():
    def set_(**changes):
        value = {"spec": 1, "app": APP, "epoch": 1, "issued": NOW, "expires": NOW + 86_400_000, "threshold": 1, "roots": [ROOT.base64],
                 "release": [RELEASE.base64], "freshness": [FRESHNESS.base64]}
        value.update(changes)
        return {key: item for key, item in value.items() if item != "missing"}
    cases = {
        "00-usual": set_(), "01-two-of-two": set_(roots=[ROOT.base64, OTHER_ROOT.base64], threshold=2), "02-no-freshness": set_(freshness="missing"),
        "03-strangers-root": set_(roots=[RELEASE.base64], release=[OTHER_ROOT.base64]), "04-spec-2": set_(spec=2), "05-no-app": set_(app="missing"),
        "06-other-app": set_(app="org.example.other"), "07-epoch-0": set_(epoch=0), "08-epoch-5": set_(epoch=5), "09-epoch-huge": set_(epoch=1_000_001),
        "10-threshold-0": set_(threshold=0), "11-threshold-2": set_(threshold=2), "12-root-twice": set_(roots=[ROOT.base64, ROOT.base64]),
        "13-no-roots": set_(roots=[]), "14-no-release": set_(release=[]), "15-both-roles": set_(freshness=[RELEASE.base64]),
        "16-short-key": set_(release=["AAAA"]), "17-key-number": set_(release=[1]), "18-many": set_(release=[RELEASE.base64] * 17),
        "19-issued-text": set_(issued="now"), "20-expires-huge": set_(expires=2**53), "21-roots-text": set_(roots="x"),
        "22-url64": set_(release=[RELEASE.base64.replace("+", "-").replace("/", "_").rstrip("=")]),
        "23-epoch-2": set_(epoch=2), "24-more": set_(mood="good"), "25-threshold-text": set_(threshold="1"),
    }
    for name, value in cases.items():
        put("release-keys", name, compact(value))
    put("release-keys", "30-no-object", "[]")
    put("release-keys", "31-cut", compact(set_())[:-1])
    put("release-keys", "32-twice", compact(set_()).decode().replace("{", '{"epoch":1,', 1))


def freshness():
    def statement(**changes):
        value = {"app": APP, "channel": CHANNEL, "release": digest("payload"), "sequence": 7, "expires": NOW + 1000}
        value.update(changes)
        return {key: item for key, item in value.items() if item != "missing"}
    cases = {
        "00-usual": statement(), "01-more": statement(mood="good"), "02-no-app": statement(app="missing"), "03-no-channel": statement(channel="missing"),
        "04-short-digest": statement(release="ab"), "05-upper-digest": statement(release=digest("payload").upper()),
        "06-sequence-2-53": statement(sequence=2**53), "07-expires-negative": statement(expires=-1), "08-app-number": statement(app=1),
        "09-no-sequence": statement(sequence="missing"), "10-no-expires": statement(expires="missing"), "11-control": statement(channel="a\u007f"),
        "12-sequence-0": statement(sequence=0),
    }
    for name, value in cases.items():
        put("release-freshness", name, compact(value))
    put("release-freshness", "20-no-object", "[]")
    put("release-freshness", "21-no-json", "x")


# Trees, versions -------------------------------------------------------------------------------------------------------------------------------

def lists():
    def line(path, size=1, text=None):
        return f"{digest(text or path)} {size} {path}\n"
    a, b = line("a"), line("b")
    cases = {
        "00-two": a + b, "01-empty": "", "02-deep": line("assets/a b/é.js", 123456), "03-no-end": (a + b)[:-1], "04-order": b + a, "05-twice": a + a,
        "06-case": line("A") + a, "07-file-and-folder": a + line("a/b"), "08-leading-zero": line("a", "01"), "09-plus": line("a", "+1"),
        "10-negative": line("a", "-1"), "11-two-blanks": line("a", " 1"), "12-upper": a.upper(), "13-blank-line": a + "\n" + b, "14-climbing": line("../x"),
        "15-too-large": line("a", 2_000_000), "23-long": "".join(line(f"f{i:02}") for i in range(40)), "16-overflow": line("a", 2**63), "17-crlf": a.replace("\n", "\r\n"), "18-two-parts": digest("a") + " 1\n",
        "19-short-digest": "ab 1 a\n", "20-accents": line("e\u0301") + line("\u00e9"), "21-no-line": "\n", "22-many": "".join(line(f"f{i:02}") for i in range(9)),
    }
    for name, value in cases.items():
        put("release-list", name, value)
    put("release-list", "30-latin-1", a.encode() + digest("x").encode() + b" 1 \xe9\n")


def paths():
    cases = ["index.html", "assets/app-BcXz9a1Q.js", ".well-known/x", "été/№ 1.txt", "...", "ab:c", "", "/", "/a", "a//b", "a/", "../x", "a/../b", ".",
             "a/./b", "a\\b", "a\0b", "a\nb", "a\x7f", "C:x", "z:", "ZIP:x", "a" * 255, "a" * 256, "/".join("a" * 33), "/".join("a" * 32), "1:x",
             "a/\u0301x", "x" * 200 + "/" + "y" * 255 + "/" + "z" * 255 + "/" + "w" * 255 + "/" + "v" * 255]
    for index, text in enumerate(cases):
        put("release-path", f"{index:02}", text)
    put("release-path", "40-latin-1", b"\xe9")


def versions():
    cases = ["1.0\n2.0\n1.4.2", "\n\n1", "1.2.3\n\n1.2.3", "\n2\n2.0.0.0", "1\n2\n1.99.99.99", "1.2-beta\n1.3+5\n1.2.9-x", "x\n\n1", "\n1.x\n1", "1\n2\n", "1\n2\n1..2",
             "1\n2\n1.2.3.4.5", "1\n2\n-1", "1\n2\n1.1000000000", "1\n2\n1.999999999", "1\n2", "01.002\n2\n1.2", "2\n1\n1.5", "1\n2\n1.٣"]
    for index, text in enumerate(cases):
        put("native-version", f"{index:02}", text)


# Archives --------------------------------------------------------------------------------------------------------------------------------------

def raw_deflate(data, level=9, strategy=zlib.Z_DEFAULT_STRATEGY):
    packer = zlib.compressobj(level, zlib.DEFLATED, -15, 9, strategy)
    return packer.compress(data) + packer.flush()


class Zip:
    """An archive put together by hand, as a liar would."""

    def __init__(self):
        self.local, self.central, self.count = b"", b"", 0

    def add(self, name, data=b"", method=0, packed=None, flags=0, mode=0, extra=b"", central_extra=None, descriptor=None, local_name=None, size=None,
            offset=None, crc=None, central=True, disk=0, comment=b"", local_size=None, local_flags=None):
        name = name if isinstance(name, bytes) else name.encode()
        packed = data if packed is None else packed
        crc = zlib.crc32(data) if crc is None else crc
        size = len(data) if size is None else size
        place = len(self.local) if offset is None else offset
        local_name = name if local_name is None else local_name.encode()
        said = (0, 0, 0) if descriptor is not None else (crc, len(packed), size if local_size is None else local_size)
        if descriptor is not None:
            flags |= 8
        if offset is None:
            self.local += struct.pack("<IHHHHHIIIHH", 0x04034B50, 20, flags if local_flags is None else local_flags, method, 0, 0x21, *said, len(local_name),
                                      len(extra)) + local_name + extra + packed
            if descriptor is not None:
                self.local += descriptor(crc, len(packed), size)
        if central:
            more = extra if central_extra is None else central_extra
            self.central += struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 0x0314, 20, flags, method, 0, 0x21, crc, len(packed), size, len(name), len(more),
                                        len(comment), disk, 0, mode << 16, place) + name + more + comment
            self.count += 1
        return self

    def bytes(self, count=None, start=None, size=None, comment=b"", gap=b"", disk=0, total=None):
        count = self.count if count is None else count
        return self.local + gap + self.central + struct.pack(
            "<IHHHHIIH", 0x06054B50, disk, 0, count, count if total is None else total, len(self.central) if size is None else size,
            len(self.local) + len(gap) if start is None else start, len(comment)) + comment


def archives():
    text = b"<!doctype html><p>hello hello hello</p>"
    packed = raw_deflate(text)
    short = lambda crc, size, plain: struct.pack("<III", crc, size, plain)
    long = lambda crc, size, plain: struct.pack("<IIII", 0x08074B50, crc, size, plain)
    lying = lambda crc, size, plain: struct.pack("<IIII", 0x08074B50, crc ^ 1, size, plain)
    second = struct.pack("<HHBI4s", 0x7075, 9, 1, 0, b"evil")
    harmless = struct.pack("<HHBI", 0x5455, 5, 1, 0)
    inner = Zip().add("inner", b"x").local
    cases = {
        "00-stored": Zip().add("index.html", text).bytes(), "01-deflated": Zip().add("index.html", text, 8, packed).bytes(),
        "02-folder": Zip().add("assets/", mode=0o40755).add("assets/a", b"a", mode=0o100644).bytes(),
        "03-streamed": Zip().add("a", text, 8, packed, descriptor=long).bytes(), "04-streamed-short": Zip().add("a", text, 8, packed, descriptor=short).bytes(),
        "05-extra": Zip().add("a", b"a", extra=harmless, central_extra=b"").bytes(), "06-empty-file": Zip().add("a").bytes(), "07-nothing": Zip().bytes(),
        "08-utf-8": Zip().add("été", b"1", flags=0x800).bytes(), "09-folder-deflated": Zip().add("d/", b"", 8, b"\x03\0").bytes(),
        "10-climbing": Zip().add("../x", b"1").bytes(), "11-absolute": Zip().add("/x", b"1").bytes(), "12-twice": Zip().add("a", b"1").add("a", b"2").bytes(),
        "13-case": Zip().add("a", b"1").add("A", b"2").bytes(), "14-link": Zip().add("l", b"/etc/passwd", mode=0o120777).bytes(),
        "15-device": Zip().add("l", mode=0o20666).bytes(), "16-encrypted": Zip().add("a", b"1", flags=1).bytes(),
        "17-method": Zip().add("a", b"1", method=12).bytes(), "18-two-names": Zip().add("a", b"1", local_name="b").bytes(),
        "19-two-sizes": Zip().add("a", b"1", local_size=2).bytes(), "20-bomb": Zip().add("a", text, 8, packed, size=3).bytes(),
        "21-promise": Zip().add("a", text, 8, packed, size=1 << 30).bytes(), "22-checksum": Zip().add("a", text, crc=7).bytes(),
        "23-overlap": Zip().add("outer", inner).add("inner", b"x", offset=35).bytes(), "24-hidden": Zip().add("a", b"1").add("h", b"2", central=False).bytes(),
        "25-hidden-first": Zip().add("h", b"2", central=False).add("a", b"1").bytes(), "26-gap": Zip().add("a", b"1").bytes(gap=b"gap"),
        "27-comment": Zip().add("a", b"1").bytes(comment=b"x"), "28-behind": Zip().add("a", b"1").bytes() + b"x",
        "29-before": b"x" + Zip().add("a", b"1").bytes(), "30-count-more": Zip().add("a", b"1").bytes(count=2), "31-count-less": Zip().add("a", b"1").bytes(count=0),
        "32-parts": Zip().add("a", b"1").bytes(disk=1), "33-parts-count": Zip().add("a", b"1").bytes(total=2), "34-zip64": Zip().add("a", b"1").bytes(count=0xFFFF),
        "35-zip64-start": Zip().add("a", b"1").bytes(start=0xFFFFFFFF), "36-zip64-size": Zip().add("a", b"1", size=0xFFFFFFFF).bytes(),
        "37-second-name": Zip().add("a", b"1", extra=second, central_extra=b"").bytes(), "38-second-name-central": Zip().add("a", b"1", central_extra=second).bytes(),
        "39-latin-1": Zip().add(b"\xe9", b"1").bytes(), "40-folder-content": Zip().add("d/", b"1").bytes(),
        "41-folder-by-mode": Zip().add("d", mode=0o40755).bytes(), "42-file-by-mode": Zip().add("d/", mode=0o100644).bytes(),
        "43-lying-descriptor": Zip().add("a", text, 8, packed, descriptor=lying).bytes(), "44-far": Zip().add("a", b"1", offset=1 << 20).bytes(),
        "45-unsealed": Zip().add("a", text, 8, packed[:-3]).bytes(), "46-behind-deflate": Zip().add("a", text, 8, packed + b"zz").bytes(),
        "47-many": (lambda z: [z.add(f"f{i}") for i in range(17)][-1])(Zip()).bytes(), "48-header-cut": Zip().add("a", b"1").bytes()[:-23] + b"\0" * 23,
        "49-central-cut": Zip().add("a", b"1").bytes(size=10), "50-short": b"PK\5\6", "51-bad-packed": Zip().add("a", text, 8, b"\xff" * len(packed)).bytes(),
        "52-entry-comment": Zip().add("a", b"1", comment=b"see").bytes(), "53-masked": Zip().add("a", b"1", flags=0x2000).bytes(),
        "54-stored-two-sizes": Zip().add("a", b"1", size=5).bytes(), "55-flags-differ": Zip().add("a", b"1", local_flags=8).bytes(),
        "56-second-name-far": Zip().add("a", b"1", extra=struct.pack("<HH", 1, 0) + second, central_extra=b"").bytes(),
        "57-extra-cut": Zip().add("a", b"1", extra=b"\1\0\xff", central_extra=b"\1\0\xff").bytes(), "58-long-extra": Zip().add(
            "a", b"1", extra=struct.pack("<HH", 9, 60000), central_extra=b"").bytes(),
        "61-more": (lambda z: [z.add(f"f{i}") for i in range(33)][-1])(Zip()).bytes(), "62-no-entry": Zip().add("a", b"1").bytes().replace(b"PK\1\2", b"PK\1\1"),
        "63-long-name": Zip().add("a", b"1").bytes().replace(b"\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0a", b"\xff" + b"\0" * 17 + b"a"),
    }
    for name, value in cases.items():
        put("archive", name, value)
    # Two real writers.
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("index.html", "assets/app.js"):
            archive.writestr(zipfile.ZipInfo(name), text * 3, zipfile.ZIP_DEFLATED)
    put("archive", "60-python", out.getvalue())


def inflations():
    text = b"abcabcabcabc hello hello hello hello" * 5
    cases = {
        "00-dynamic": raw_deflate(bytes(random.Random(1).choices(b"abcdefgh \n", k=700))), "01-fixed": raw_deflate(text, 9, zlib.Z_FIXED),
        "02-stored": raw_deflate(text, 0), "03-empty": raw_deflate(b""), "04-huffman-only": raw_deflate(text, 9, zlib.Z_HUFFMAN_ONLY),
        "05-runs": raw_deflate(b"\0" * 100_000), "06-cut": raw_deflate(text)[:-2], "07-behind": raw_deflate(text) + b"x", "08-type-3": b"\x07",
        "09-stored-length": b"\x01\x05\0\0\0hello", "10-far": b"\x03\x01\0", "11-nothing": b"", "12-bomb": raw_deflate(b"\0" * 4_000_000),
        "13-too-many-codes": b"\x05\xff\xff", "14-two-blocks": raw_deflate(text, 0)[:0] + b"\0\2\0\xfd\xffhi" + raw_deflate(text),
        "15-over-subscribed": b"\x05\0" + b"\xff" * 20, "16-noise": random.Random(2).randbytes(60), "17-fixed-far": bytes([0x4b, 0x04, 0x81, 0x01, 0x00]),
    }
    for name, value in cases.items():
        put("inflate", name, value)


# Patches and seals -----------------------------------------------------------------------------------------------------------------------------

def patch_base():
    """The same bytes as the property makes."""
    state, out = 1, bytearray()
    for _ in range(2000):
        state = (state * 6_364_136_223_846_793_005 + 1_442_695_040_888_963_407) % 2**64
        out.append(0x20 + (state >> 33) % 90)
    return bytes(out)


def zstd(data, *options, base=None):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "new").write_bytes(data)
        command = ["zstd", "-q", "-f", "--single-thread", *options, str(folder / "new"), "-o", str(folder / "out")]
        if base is not None:
            (folder / "old").write_bytes(base)
            command[1:1] = [f"--patch-from={folder / 'old'}"]
        tool(*command)
        return (folder / "out").read_bytes()


def patches():
    base = patch_base()
    target = base[:700] + b"something new" + base[900:]
    size = lambda data: struct.pack("<H", len(data))
    usual = zstd(target, "-9", base=base)
    cases = {
        "00-usual": size(target) + usual, "01-unsized": size(target) + zstd(target, "-3", "--no-check", "--no-content-size", base=base),
        "02-unrelated": size(b"hello") + zstd(b"hello", "-1"), "03-nothing": size(b"") + zstd(b""), "04-size-less": size(target[:-1]) + usual,
        "05-size-more": size(target + b"x") + usual, "06-cut": size(target) + usual[:-5], "07-behind": size(target) + usual + b"x",
        "08-two-frames": size(target + target) + usual + usual, "09-changed": size(target) + usual[:20] + bytes([usual[20] ^ 1]) + usual[21:],
        "10-bomb": size(b"x" * 100) + zstd(b"x" * 60_000), "11-no-magic": size(b"") + b"hello", "12-short": b"\1", "13-skippable": size(b"") + b"\x50\x2a\x4d\x18\1\0\0\0x",
        "14-dictionary": size(b"") + b"\x28\xb5\x2f\xfd\x21\x07\0" + b"\0" * 6, "15-huge-window": size(b"") + b"\x28\xb5\x2f\xfd\0\xa8\1\0\0",
        "16-large-window": size(b"") + b"\x28\xb5\x2f\xfd\0\x88\1\0\0", "17-rle": size(b"a" * 50) + zstd(b"a" * 50, "-1"),
        "18-other-base": size(target) + zstd(target, "-9", base=base[::-1]), "19-raw": size(bytes(range(200))) + zstd(bytes(range(200)), "--no-check"),
    }
    for name, value in cases.items():
        put("tree-patch", name, value)


def packed_files():
    size = lambda data: struct.pack("<H", len(data))
    files = {"a": b"a", "assets/b.js": b"let b = 1"}
    listed = "".join(f"{hashlib.sha256(data).hexdigest()} {len(data)} {name}\n" for name, data in files.items()).encode()
    text, usual = b"export const greeting = 'hello'\n" * 9, zstd(listed, "-12")
    cases = {
        "00-list": size(listed) + usual, "01-text": size(text) + zstd(text, "-12"), "02-nothing": size(b"") + zstd(b""),
        "03-unsized": size(text) + zstd(text, "--no-check", "--no-content-size"), "04-size-less": size(listed[:-1]) + usual,
        "05-size-more": size(listed + b"x") + usual, "06-cut": size(listed) + usual[:-5], "07-behind": size(listed) + usual + b"x",
        "08-two-frames": size(text + text) + zstd(text) * 2, "09-changed": size(listed) + usual[:20] + bytes([usual[20] ^ 1]) + usual[21:],
        "10-bomb": size(b"x" * 100) + zstd(b"x" * 60_000), "11-no-magic": size(b"") + b"hello", "12-short": b"\1",
        "13-skippable": size(b"") + b"\x50\x2a\x4d\x18\1\0\0\0x", "14-long-list": size(b"x" * 5000) + zstd(b"x" * 5000),
        "15-of-a-base": size(text) + zstd(text, base=text), "16-raw": size(bytes(range(200))) + zstd(bytes(range(200)), "--no-check"),
        "17-huge-window": size(b"") + b"\x28\xb5\x2f\xfd\0\xa8\1\0\0", "18-dictionary": size(b"") + b"\x28\xb5\x2f\xfd\x21\x07\0" + b"\0" * 6,
    }
    for name, value in cases.items():
        put("packed-file", name, value)


def states():
    """The text behind the digest, which the property adds."""
    def bundle(**changes):
        value = {"tree": digest("tree"), "identity": {"tree": digest("tree")}, "version": "1.4.2", "stamp": "s", "channel": CHANNEL, "sequence": 7,
                 "storageEpoch": 0, "resetsStorage": False, "native": {"min": "1.0", "below": "2.0"}}
        value.update(changes)
        return {key: item for key, item in value.items() if item != "missing"}

    def failure(**changes):
        value = {"identity": {"checksum": "ab"}, "channel": CHANNEL, "sequence": 6, "version": "1.4.1", "reason": "crashed", "count": 1}
        value.update(changes)
        return {key: item for key, item in value.items() if item != "missing"}

    whole = {"format": 1, "native": "1.2.0", "build": "12", "builtInVersion": "1.0.0", "roots": digest("roots"), "running": bundle(),
             "staged": bundle(identity={"checksum": "cd"}, sequence=None), "fallback": bundle(resetsStorage=True),
             "trial": {"attempts": 1, "nonce": "n"}, "floors": {CHANNEL: {"taken": 5, "seen": 7}},
             "failed": [failure(reason=reason) for reason in ("crashed", "silent", "ended", "missing")], "revoked": [digest("bad")],
             "keySet": base64.b64encode(b"{}").decode(), "newestIssued": NOW, "seed": "seed", "checked": NOW, "manifestURL": "https://b.example/m.json",
             "manifestTag": '"t"', "manifestRelease": digest("release"),
             "decisions": [{"at": NOW, "what": "staged", "version": "1.4.2", "why": "It is newer."}]}

    def changed(**changes):
        return {key: item for key, item in {**whole, **changes}.items() if item != "missing"}
    cases = {
        "00-usual": whole, "01-format-only": {"format": 1}, "02-later": changed(format=2, trial="something new"), "03-format-0": changed(format=0),
        "04-format-text": changed(format="1"), "05-list": [], "06-nothing": {}, "07-no-running": changed(running=None),
        "08-no-tree": changed(running=bundle(tree="missing")), "09-short-tree": changed(running=bundle(tree="ab")),
        "10-no-identity": changed(running=bundle(identity="missing")), "11-empty-identity": changed(running=bundle(identity={})),
        "12-no-version": changed(staged=bundle(version="missing")), "13-no-channel": changed(staged=bundle(channel=1)),
        "14-no-epoch": changed(staged=bundle(storageEpoch="missing")), "15-native-text": changed(staged=bundle(native={"min": "x"})),
        "16-no-stamp": changed(fallback=bundle(stamp="missing", resetsStorage="missing")), "17-floor-half": changed(floors={"a": {"taken": 1}, "b": {"seen": 1}, "c": 1}),
        "18-negative": changed(running=bundle(sequence=-2**63), floors={CHANNEL: {"taken": -1, "seen": 7}}, checked=-1),
        "19-huge": changed(running=bundle(sequence=2**63 - 1), failed=[failure(count=2**63 - 1)], trial={"attempts": 2**63 - 1, "nonce": "n"}, newestIssued=2**63 - 1),
        "20-above-exact": changed(running=bundle(sequence=2**53), staged=bundle(storageEpoch=2**53)),
        "21-failures": changed(failed=[failure(identity="missing"), failure(channel="missing"), failure(sequence="missing"), failure(version="missing"),
                                       failure(reason="missing"), failure(reason="bored"), failure(count="missing"), 1]),
        "22-decisions": changed(decisions=[{"at": 1}, {"at": 1, "what": "x"}, {"at": 1, "what": "x", "version": "1"}, {}, 1]),
        "23-revoked": changed(revoked=["ab", 1, digest("bad")]), "24-key-set": changed(keySet="not base64!"), "25-trial-half": changed(trial={"attempts": 1}),
        "26-trial-text": changed(trial={"attempts": "1", "nonce": "n"}), "27-fraction": changed(checked=0.5), "28-lists": changed(failed={}, revoked={}, decisions={}, floors=[]),
    }
    for name, value in cases.items():
        put("update-state", name, compact(value))
    put("update-state", "30-cut", compact(whole)[:-1])
    put("update-state", "31-twice", compact(whole).decode().replace('{"build":', '{"build":"1","build":', 1))


def streams():
    def stream(files, order=None, length=None, lines=None):
        text = "".join(f"{hashlib.sha256(files[name]).hexdigest()} {len(files[name])} {name}\n" for name in sorted(files)) if lines is None else lines
        contents = b"".join(files[name] for name in (sorted(files) if order is None else order))
        return struct.pack("<H", len(text.encode()) if length is None else length) + text.encode() + contents
    two = {"a": b"a", "b.js": b"let b = 1"}
    hashed = {"x-AAAAAAAA.js": b"1", "x-BBBBBBBB.css": b"22", "a/x.0123456789.js": b"333", "x.js": b"4444", "y-Bc-z9a1Q.js": b"5"}
    cases = {
        "00-two": stream(two), "01-nothing": stream({}), "02-empty-file": stream({"a": b"", "b": b"x"}),
        "03-hashed": stream(hashed, ["a/x.0123456789.js", "x-BBBBBBBB.css", "x-AAAAAAAA.js", "x.js", "y-Bc-z9a1Q.js"]), "04-by-name": stream(hashed), "05-cut": stream(two)[:-1],
        "06-longer": stream(two) + b"x", "07-other-order": stream(two, ["b.js", "a"]), "08-other-content": stream(two)[:-1] + b"2",
        "09-list-short": stream(two, length=10), "10-list-long": stream(two, length=60000), "11-no-list": b"\1", "12-bad-list": stream(two, lines="x\n"),
        "13-climbing": stream({"../x": b"1"}), "14-case": stream({"A": b"1", "a": b"2"}), "15-only-list": stream(two, []),
    }
    for name, value in cases.items():
        put("tree-stream", name, value)


SESSION, VECTOR = bytes(range(16)), bytes(range(16, 32))
PLAIN = b"an archive, as far as the cipher knows"


def seals():
    total = hashlib.sha256(PLAIN).digest()
    text = lambda data: base64.b64encode(data).decode()
    key, checksum = f"{text(VECTOR)}:{text(KEY.block(SESSION))}", KEY.block(total).hex()
    lenient = KEY.raise_(b"\x00\x01" + b"\xff" * 100 + b"\xfe" + b"\xff" * 136 + b"\0" + SESSION)
    seven = KEY.raise_(b"\x00\x01" + b"\xff" * 7 + b"\0" + b"\5" * 214 + total)
    cases = {
        "00-usual": (key, checksum), "01-no-key": ("", checksum), "02-no-checksum": (key, ""), "03-upper": (key, checksum.upper()),
        "04-base64": (key, text(KEY.block(total))), "05-legacy-base64": (key, text(KEY.block(base64.b64decode(total.hex())))), "06-crc32": (key, "0badcafe"),
        "07-plain": (key, total.hex()), "08-two-colons": (key + ":", checksum), "09-no-colon": (key.replace(":", ""), checksum),
        "10-short-vector": (f"{text(VECTOR[:-1])}:{text(KEY.block(SESSION))}", checksum), "11-long-key": (f"{text(VECTOR)}:{text(KEY.block(total))}", checksum),
        "12-stranger": (f"{text(VECTOR)}:{text(STRANGER.block(SESSION))}", checksum), "13-strangers-checksum": (key, STRANGER.block(total).hex()),
        "14-key-as-checksum": (key, KEY.block(SESSION).hex()), "15-lenient-padding": (f"{text(VECTOR)}:{text(lenient)}", checksum),
        "16-seven": (key, seven.hex()), "17-short-block": (key, checksum[2:]), "18-long-block": (key, "00" + checksum), "19-above-modulus": (key, "ff" * 256),
        "20-zero": (key, "00" * 256), "21-odd": (key, checksum[:-1] + "g"), "22-vector-blank": (" " + key[1:], checksum),
        "23-block-blank": (key[:25] + " " + key[26:], checksum), "24-short-key-block": (f"{text(VECTOR)}:{text(KEY.block(SESSION)[1:])}", checksum),
    }
    for name, (one, two) in cases.items():
        put("seal", name, f"{one}\n{two}")
    put("seal", "30-one-line", key)

    def encrypted(data):
        return tool("openssl", "enc", "-aes-128-cbc", "-K", SESSION.hex(), "-iv", VECTOR.hex(), data=data)
    sealed = encrypted(PLAIN)
    for name, value in {
        "00-usual": sealed, "01-empty": b"", "02-plain": PLAIN, "03-cut": sealed[:-16], "04-odd": sealed[:-1], "05-other": encrypted(b"something else"),
        "06-padding": sealed[:-1] + bytes([sealed[-1] ^ 1]), "07-longer": sealed + sealed[-16:], "08-block": encrypted(b"x" * 16), "09-noise": b"\5" * 48,
    }.items():
        put("sealed-bundle", name, value)


if __name__ == "__main__":
    for make in (payloads, manifests, envelopes, key_sets, freshness, lists, paths, versions, archives, inflations, patches, packed_files, states, streams, seals):
        make()
    print("modulus for Tests/Fuzz/Properties/ReleaseKeys:", f"{KEY.n:0512x}")
