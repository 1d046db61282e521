// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// Reads a zip file part by part from disk, so that its size does not matter. Strict: what the directory says of an entry
// has to be so (length and checksum), and nothing grows beyond its limit.

const maximumEntries = 100_000;
const maximumDirectory = 64 * 1024 * 1024;

export class ZipError extends Error {
  /** `key`: the message that says what is wrong. */
  constructor(key) {
    super(key);
    this.key = key;
  }
}

const bytesOf = async (file, from, to) => new DataView(await file.slice(from, to).arrayBuffer());

/** The entries in the order of the directory: {name, size, read(limit) → Uint8Array}. */
export async function zipEntries(file) {
  const tail = await bytesOf(file, Math.max(0, file.size - 65_557), file.size);
  let end = tail.byteLength - 22;
  while (end >= 0 && tail.getUint32(end, true) !== 0x06054b50) end -= 1;
  if (end < 0) throw new ZipError("import.zip.cut");
  const count = tail.getUint16(end + 10, true);
  const size = tail.getUint32(end + 12, true);
  const start = tail.getUint32(end + 16, true);
  if (count === 0xffff || start === 0xffffffff || count > maximumEntries || size > maximumDirectory) throw new ZipError("import.zip.large");
  if (start + size > file.size) throw new ZipError("import.zip.cut");
  const directory = await bytesOf(file, start, start + size);
  const entries = [];
  let at = 0;
  for (let index = 0; index < count; index += 1) {
    if (at + 46 > directory.byteLength || directory.getUint32(at, true) !== 0x02014b50) throw new ZipError("import.zip.damaged");
    const name = directory.getUint16(at + 28, true);
    const extra = directory.getUint16(at + 30, true);
    const comment = directory.getUint16(at + 32, true);
    if (at + 46 + name > directory.byteLength) throw new ZipError("import.zip.damaged");
    const entry = {
      name: new TextDecoder().decode(new Uint8Array(directory.buffer, at + 46, name)),
      flags: directory.getUint16(at + 8, true), method: directory.getUint16(at + 10, true), sum: directory.getUint32(at + 16, true),
      packed: directory.getUint32(at + 20, true), size: directory.getUint32(at + 24, true), offset: directory.getUint32(at + 42, true),
    };
    entries.push({ name: entry.name, size: entry.size, read: (limit) => read(file, entry, limit) });
    at += 46 + name + extra + comment;
  }
  return entries;
}

async function read(file, entry, limit) {
  if (entry.flags & 1) throw new ZipError("import.zip.encrypted");
  if (entry.method !== 0 && entry.method !== 8) throw new ZipError("import.zip.method");
  if (entry.size > limit) throw new ZipError("import.toolarge");
  const head = await bytesOf(file, entry.offset, entry.offset + 30);
  if (head.byteLength < 30 || head.getUint32(0, true) !== 0x04034b50) throw new ZipError("import.zip.damaged");
  const start = entry.offset + 30 + head.getUint16(26, true) + head.getUint16(28, true);
  const packed = file.slice(start, start + entry.packed);
  if (packed.size !== entry.packed) throw new ZipError("import.zip.cut");
  const stream = entry.method === 8 ? packed.stream().pipeThrough(new DecompressionStream("deflate-raw")) : packed.stream();
  const bytes = await collect(stream, entry.size);
  if (checksum(bytes) !== entry.sum) throw new ZipError("import.zip.damaged");
  return bytes;
}

/** Exactly as many bytes as the directory says: a bomb says few and gives many. */
async function collect(stream, size) {
  const bytes = new Uint8Array(size);
  const reader = stream.getReader();
  let at = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      if (at + value.length > size) throw new ZipError("import.zip.damaged");
      bytes.set(value, at);
      at += value.length;
    }
  } catch (error) {
    reader.cancel().catch(() => {});
    throw error instanceof ZipError ? error : new ZipError("import.zip.damaged");
  }
  if (at !== size) throw new ZipError("import.zip.damaged");
  return bytes;
}

const table = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value >>> 0;
});

/** CRC-32 as zip has it. */
export function checksum(bytes) {
  let sum = 0xffffffff;
  for (const byte of bytes) sum = table[(sum ^ byte) & 0xff] ^ (sum >>> 8);
  return (sum ^ 0xffffffff) >>> 0;
}
