#!/usr/bin/env python3
# Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
"""Makes the attachments of the sample mails (Backend/Seed/files): a picture, a sound, a PDF, a film. They are checked in;
run this only to change them. The film is recorded from a canvas by Chromium (Python's selenium, as for the pictures)."""

import base64
import math
import pathlib
import random
import struct
import zlib

OUT = pathlib.Path(__file__).parent.parent / "Backend/Seed/files"


def png(width: int, height: int, pixel) -> bytes:
    rows = b"".join(b"\0" + bytes(value for x in range(width) for value in pixel(x, y)) for y in range(height))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")


def harbour(x: int, y: int) -> tuple[int, int, int]:
    """Evening at a harbour: sky, sun, hills, water with the sun in it, two sails."""
    sun = math.hypot(x - 460, y - 150)
    ridge = 176 + 22 * math.sin(x / 70) + 9 * math.sin(x / 23 + 1)
    for left, top, high in ((150, 170, 74), (250, 196, 44)):
        inside = 0 <= y - top < high and abs(x - left) < (y - top) * 0.34 and x > left - 1
        if inside:
            return (250, 240, 226)
        if 0 <= y - (top + high) < high // 8 and abs(x - left - 6) < high * 0.42 - (y - top - high):
            return (94, 52, 44)
    if y > 226:
        glow = max(0, 1 - abs(x - 460) / (18 + (y - 226) * 0.5)) * (0.55 + 0.45 * ((y * 7 // 11) % 2))
        return (int(34 + (y - 226) // 10 + 190 * glow), int(72 + 110 * glow), int(104 + 30 * glow))
    if y > ridge:
        return (58, 66, 92) if y > ridge + 14 else (74, 82, 108)
    if sun < 34:
        return (255, 226, 150)
    warm = max(0, 1 - sun / 330)
    return (int(120 + 130 * warm), int(132 + 60 * warm), int(170 - 50 * warm))


def wav() -> bytes:
    """A bell: three partials that fade, 2 s at 11,025 Hz, 8 bits."""
    rate, seconds = 11_025, 2
    samples = bytearray()
    for n in range(rate * seconds):
        t = n / rate
        value = sum(a * math.exp(-d * t) * math.sin(2 * math.pi * f * t) for f, a, d in ((523, 0.5, 2.2), (1046, 0.25, 3.4), (1570, 0.15, 5)))
        samples.append(int(128 + 120 * max(-1, min(1, value))))
    return b"RIFF" + struct.pack("<I", 36 + len(samples)) + b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, rate, rate, 1, 8) + b"data" + struct.pack("<I", len(samples)) + bytes(samples)


def pdf() -> bytes:
    """One page of A4: a heading, some lines, a drawing."""
    lines = ["BT /F2 26 Tf 72 760 Td (Lighthouse walk) Tj ET", "BT /F1 12 Tf 72 734 Td (Saturday, meeting point: north pier, 9:30. Bring water and a hat.) Tj ET"]
    stops = ["North pier", "Fog signal house", "Keeper's garden", "Lighthouse, 142 steps", "Harbour bakery"]
    for n, stop in enumerate(stops):
        y = 660 - n * 64
        lines.append(f"0.12 0.37 0.82 rg 88 {y} m 88 {y + 8} 100 {y + 8} 100 {y} c 100 {y - 8} 88 {y - 8} 88 {y} c f")
        if n < len(stops) - 1:
            lines.append(f"0.72 0.81 0.96 RG 3 w 94 {y - 10} m 94 {y - 54} l S")
        lines.append(f"0.1 0.13 0.16 rg BT /F1 14 Tf 120 {y - 5} Td ({n + 1}.  {stop}) Tj ET")
    content = "\n".join(lines).encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R /F2 6 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>", b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold >>",
    ]
    out, places = bytearray(b"%PDF-1.4\n"), []
    for number, text in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, text)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1) + b"".join(b"%010d 00000 n \n" % place for place in places)
    return bytes(out + b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start))


FILM = """
const done = arguments[0];
const canvas = document.createElement('canvas');
[canvas.width, canvas.height] = [320, 180];
const draw = canvas.getContext('2d');
const recorder = new MediaRecorder(canvas.captureStream(12), {mimeType: 'video/webm;codecs=vp8', videoBitsPerSecond: 90000});
const parts = [];
recorder.ondataavailable = (event) => parts.push(event.data);
recorder.onstop = async () => {
  const bytes = new Uint8Array(await new Blob(parts).arrayBuffer());
  done(btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')));
};
const began = performance.now();
const frame = () => {
  const t = (performance.now() - began) / 1000;
  draw.fillStyle = '#bcd7ea'; draw.fillRect(0, 0, 320, 110);
  draw.fillStyle = '#2f6f8f'; draw.fillRect(0, 110, 320, 70);
  const x = 40 + t * 80, y = 112 + Math.sin(t * 4) * 4;
  draw.fillStyle = '#6b3d2e'; draw.beginPath(); draw.moveTo(x - 30, y); draw.lineTo(x + 30, y); draw.lineTo(x + 18, y + 16); draw.lineTo(x - 18, y + 16); draw.fill();
  draw.fillStyle = '#fdf6e9'; draw.beginPath(); draw.moveTo(x, y - 60); draw.lineTo(x + 26, y - 4); draw.lineTo(x, y - 4); draw.fill();
  if (t < 3) requestAnimationFrame(frame); else recorder.stop();
};
recorder.start(); frame();
"""


def film() -> bytes:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu"):
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
    try:
        driver.set_script_timeout(20)
        driver.get("data:text/html,film")
        return base64.b64decode(driver.execute_async_script(FILM))
    finally:
        driver.quit()


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    random.seed(1)
    for name, data in {"harbour.png": png(640, 400, harbour), "bell.wav": wav(), "walk.pdf": pdf(), "boat.webm": film()}.items():
        (OUT / name).write_bytes(data)
        print(f"{name}: {len(data)} bytes")


if __name__ == "__main__":
    main()
