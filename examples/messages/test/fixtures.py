# Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
"""The mail the pictures show: written for them, dated from now, with the awkward cases in it."""

import base64
import datetime
import pathlib
import struct
import zlib

ME = {"name": "Camille Moreau", "email": "camille.moreau@ville.example"}
PROFILE = {"id": "u1", "email": ME["email"], "full_name": ME["name"], "language": "en"}
NOW = datetime.datetime.now(datetime.timezone.utc).replace(second=0, microsecond=0)


def at(hours: float) -> str:
    return (NOW - datetime.timedelta(hours=hours)).isoformat().replace("+00:00", "Z")


def person(name: str, email: str | None = None) -> dict:
    return {"name": name, "email": email or name.lower().replace(" ", ".").replace("’", "") + "@ville.example"}


def png(width: int, height: int, pixel) -> bytes:
    """A picture from a function of (x, y) → (r, g, b)."""
    rows = b"".join(b"\0" + bytes(value for x in range(width) for value in pixel(x, y)) for y in range(height))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(rows, 6))
        + chunk(b"IEND", b"")
    )


def landscape(x: int, y: int) -> tuple[int, int, int]:
    hill = 150 + 26 * (((x / 90) % 2) - 1) ** 2
    far = 110 + 30 * (((x / 140 + 0.6) % 2) - 1) ** 2
    if y > hill:
        return (58, 110, 84)
    if y > far:
        return (104, 150, 128)
    return (255 - y // 2, 226 - y // 4, 190 + y // 4)


def sample(name: str) -> bytes:
    """An attachment of the backend's sample mails (make_samples.py)."""
    return (pathlib.Path(__file__).parent.parent / "Backend/Seed/files" / name).read_bytes()


BLOBS: dict[str, tuple[str, bytes]] = {
    "park": ("image/png", png(480, 220, landscape)),
    "plan": ("application/pdf", sample("walk.pdf")),
    "budget": ("application/vnd.oasis.opendocument.spreadsheet", b"fixture"),
    "invite": ("text/calendar", "\r\n".join([
        "BEGIN:VCALENDAR", "BEGIN:VEVENT", "DTSTART:20260918T120000Z", "DTEND:20260918T133000Z", "SUMMARY:Site visit\\, north entrance",
        "LOCATION:Rue des Tanneries 4", "ORGANIZER;CN=Léa Fontaine:mailto:lea.fontaine@ville.example", "ATTENDEE;CN=Hugo Bernard:mailto:hugo.bernard@ville.example",
        "DESCRIPTION:Boots are useful.\\nWe meet at the gate.", "BEGIN:VALARM", "SUMMARY:not this", "END:VALARM", "END:VEVENT", "END:VCALENDAR", ""]).encode()),
    "forward": ("message/rfc822", "\r\n".join([
        "From: Neighbours <neighbours@tanneries.example>", "To: mairie@ville.example", "Subject: Questions", "", "How steep is the ramp?", ""]).encode()),
    "boat": ("video/webm", sample("boat.webm")),
    "bell": ("audio/wav", sample("bell.wav")),
    "harbour": ("image/png", sample("harbour.png")),
    "note": ("text/plain", "Benches: 6\nTrees: 11\nملاحظة: المنحدر أقل من ٤٪\n".encode()),
    "fake": ("image/png", b"<script>alert(1)</script>"),
}

NEWSLETTER = """<html><head><style>
 body { background:#eef1f6; font-family: Georgia, serif; }
 .wrap { width:600px; margin:0 auto; background:#ffffff; }
 .hero { background:#0b5e55; color:#ffffff; padding:28px 32px; }
 .btn { background:#d9572b; color:#fff; padding:12px 22px; text-decoration:none; border-radius:6px; display:inline-block; }
 @import url("https://news.example/style.css");
 .hero { background-image: url("https://news.example/hero.png"); }
</style></head><body bgcolor="#eef1f6"><table class="wrap" width="600" align="center" cellpadding="0"><tr><td class="hero">
 <p style="margin:0;font-size:13px;letter-spacing:1px;color:#bfe5df">LA LETTRE DES JARDINS · N° 48</p>
 <h1 style="margin:8px 0 0;font-size:28px">Septembre au potager</h1></td></tr>
 <tr><td><img src="https://news.example/tomatoes.jpg" width="600" height="180" alt="Tomates anciennes sur un étal"></td></tr>
 <tr><td style="padding:24px 32px;color:#333;font-size:16px;line-height:1.6">
 <p>Bonjour Camille,</p><p>Les dernières tomates mûrissent, les premières courges arrivent. Ce mois-ci, nous vous proposons trois
 gestes simples pour préparer l’automne, et une visite guidée du jardin partagé des Tanneries.</p>
 <p><a class="btn" href="https://news.example/visite?utm=1">Réserver ma place</a></p>
 <p style="color:#666;font-size:13px">Vous recevez cette lettre car vous êtes inscrite au jardin. <a href="https://news.example/stop">Se désinscrire</a></p>
 <img src="https://news.example/pixel.gif?u=camille" width="1" height="1"></td></tr></table></body></html>"""

HOSTILE = """<html><head><meta http-equiv="refresh" content="0;url=https://news.example/refreshed">
<base href="https://news.example/"><script>window.top.pwned = 'head script'; fetch('https://news.example/script-ran')</script>
<link rel="stylesheet" href="https://news.example/link.css"><style>@import url(https://news.example/import.css);
 body { background: url(https://news.example/css-bg.png) } @font-face { font-family: x; src: url(https://news.example/font.woff2) }
 h2 { font-family: x; position: fixed }</style></head>
<body onload="parent.pwned='onload'" style="background-image:url('https://news.example/inline-bg.png')">
<h2>Your parcel is waiting</h2>
<p>Dear customer, a parcel could not be delivered. <a href="https://news.example/real" target="_top" ping="https://news.example/ping">Track it</a>
 or <a href="javascript:parent.pwned='link'" id="js">confirm your address</a>.</p>
<img src=x onerror="parent.pwned='onerror'"><img srcset="https://news.example/srcset.png 2x" src="https://news.example/img.png" width="40" height="40">
<img src="API_ORIGIN/api/v1.0/logout/"><img src="API_ORIGIN/api/v1.0/blob/park/">
<svg onload="parent.pwned='svg'"><script>parent.pwned='svg script'</script><image href="https://news.example/svg.png"/></svg>
<iframe src="https://news.example/frame"></iframe><object data="https://news.example/object"></object>
<video poster="https://news.example/poster.png" src="https://news.example/video.mp4" autoplay></video>
<form action="https://news.example/form" method="post"><input name="password" autofocus><button formaction="javascript:parent.pwned='form'">OK</button></form>
<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=parent.pwned='mxss'&gt;"></table></mtext></math>
<a href="//news.example/protocol-relative" onclick="parent.nacre.session.signOut()">Unsubscribe</a>
<details open ontoggle="parent.pwned='toggle'"><summary>More</summary>text</details>
<nc-toaster></nc-toaster></body></html>"""


def message(key, who, hours, text="", html=None, to=None, cc=None, files=()):
    return {
        "id": key, "from": who, "to": to or [ME], "cc": cc or [], "sent_at": at(hours), "text": text, "html": html,
        "attachments": [
            {"id": blob, "name": name, "type": BLOBS[blob][0], "size": size, "inline": cid is not None, "cid": cid}
            for blob, name, size, cid in files
        ],
    }


LEA, HUGO, INES = person("Léa Fontaine", "lea.fontaine@ville.example"), person("Hugo Bernard"), person("Inès Caron", "ines.caron@ville.example")
SAM, OMAR, NOA = person("Sam Whitfield"), person("عمر الحسن", "omar@partners.example"), person("נועה לוי", "noa@partners.example")
LETTER = person("La lettre des jardins", "lettre@jardins.example")

PARK_HTML = """<p>Hi Camille,</p><p>Here is the <b>new view of the park</b> from the north entrance. The architects kept all eleven trees
 and moved the path by two metres, so the ramp stays under 4&nbsp;%.</p><p><img src="cid:park@plan" alt="View of the park"></p>
<ul><li>Benches: oak, six along the path</li><li>Lighting: low, warm, off at midnight</li><li>Playground: opens in the second phase</li></ul>
<p>Could you look at the plan before <b>Thursday noon</b>?</p><p>Thanks!<br>Léa</p>
<div class="moz-cite-prefix">On Monday, Camille Moreau wrote:</div>
<blockquote type="cite"><p>Do we have a drawing from the north side yet? The neighbours ask about the ramp.</p></blockquote>"""

LONG = [
    ("Shall we move the team day to the 21st? The room in the library is free all afternoon.", LEA),
    ("The 21st works for me.", HUGO),
    ("For me too. I can book the room today.", INES),
    ("I am away that morning, but I can join at two.", SAM),
    ("Then let’s start at two, with coffee before for those who are there.", LEA),
    ("Booked: Library, second floor, 13:30 to 18:00.\n\nOn Tue, Léa Fontaine wrote:\n> Then let’s start at two, with coffee before\n> for those who are there.\n>\n>> I am away that morning, but I can join at two.\n\n-- \nInès Caron\nTeam assistant, room 204\nhttps://ville.example/team", INES),
]

THREADS = [
    ("park", "inbox", "New view of the park, please check by Thursday", True, True, [
        message("p1", ME, 52, "Do we have a drawing from the north side yet? The neighbours ask about the ramp.", to=[LEA]),
        message("p2", LEA, 0.4, "", PARK_HTML, cc=[HUGO, INES], files=[
            ("park", "north-entrance.png", 184_320, "park@plan"), ("plan", "Plan of the park, phase 1.pdf", 2_348_112, None),
            ("park", "north-entrance.png", 184_320, None), ("invite", "site-visit.ics", 1_204, None), ("forward", "Neighbours’ questions.eml", 48_220, None)])]),
    ("day", "inbox", "Team day on the 21st", True, False, [
        message(f"d{index}", who, 30 - index * 5, text, to=[ME, LEA, HUGO]) for index, (text, who) in enumerate(LONG)]),
    ("arabic", "inbox", "دعوة لحضور ورشة العمل يوم الأربعاء", True, False, [
        message("a1", OMAR, 3.2, "السيدة كامي مورو المحترمة،\n\nيسعدنا دعوتكم لحضور ورشة العمل حول المساحات الخضراء يوم الأربعاء في الساعة 14:30.\nالرابط: https://partners.example/workshop\n\nمع أطيب التحيات،\nعمر")]),
    ("media", "inbox", "The harbour: picture, film, bell and plan", False, False, [
        message("me1", HUGO, 5, "Everything from last night in one message.\n\nHugo", cc=[LEA], files=[
            ("harbour", "harbour at seven.png", 42_151, None), ("boat", "the little boat.webm", 12_573, None), ("bell", "new bell.wav", 22_094, None),
            ("plan", "lighthouse walk.pdf", 1_699, None), ("note", "notes.txt", 68, None), ("fake", "not a picture.png", 25, None),
            ("budget", "__proto__ \u202egnp.exe " + "long " * 50, 412_000, None)])]),
    ("invoice", "inbox", "Facture n° 2024-0917 – mobilier urbain", False, False, [
        message("i1", person("Service comptabilité", "compta@bancs.example"), 7, "Bonjour,\n\nVeuillez trouver ci-joint la facture n° 2024-0917 d’un montant de 4 280,00 €.\n\nCordialement,\nLe service comptabilité", files=[("plan", "facture-2024-0917.pdf", 96_400, None)])]),
    ("jardin", "inbox", "Septembre au potager : trois gestes simples", False, False, [message("n1", LETTER, 22, "", NEWSLETTER)]),
    ("party", "inbox", "🎉 Farewell drinks for Mireille — Friday 6 pm 🥂", False, True, [
        message("f1", SAM, 26, "Thirty-one years in the registry deserve more than cake 🍰\n\nFriday, 6 pm, courtyard. Bring a photo if you have one!")]),
    ("parcel", "inbox", "Your parcel could not be delivered", False, False, [message("h1", person("Parcel Service", "no-reply@news.example"), 29, "", HOSTILE)]),
    ("hebrew", "inbox", "תודה על הסיור בגן", False, False, [message("he1", NOA, 54, "", "<p dir=\"rtl\">שלום קמיל, תודה רבה על הסיור. נשמח לקבל את התוכנית המעודכנת.</p>")]),
    ("budget", "inbox", "Budget 2025, second reading", False, False, [message("b1", HUGO, 75, "Figures attached; the street lighting line is still open.", files=[("budget", "budget-2025.ods", 412_000, None)])]),
    ("empty", "inbox", "", False, False, [message("e1", person("", "scanner-3@ville.example"), 98, "", files=[("plan", "scan0042.pdf", 1_800_000, None)])]),
    ("bike", "inbox", "Re: Cycle lane in rue des Tanneries: results of the public consultation and next steps for the works", False, False, [message("c1", INES, 120, "1,204 answers, 78 % in favour. Summary below.")]),
    ("wifi", "inbox", "Maintenance du réseau ce week-end", False, False, [message("w1", person("Support informatique"), 150, "Le réseau sera coupé samedi de 6 h à 8 h.")]),
    ("market", "archive", "Market stalls: new map", False, True, [message("m1", HUGO, 400, "The new map is final.")]),
    ("mine", "sent", "Question about the bench colours", False, False, [message("q1", ME, 210, "Oak or larch? I would take oak.", to=[LEA])]),
    ("keys", "archive", "Keys of the sports hall", False, False, [message("k1", SAM, 700, "Keys are at the front desk.")]),
    ("old", "trash", "Réunion annulée", False, False, [message("o1", INES, 300, "La réunion est annulée.")]),
]


DRAFTS = [
    {"id": "draft-0000-0000-0001", "to": [LEA, person("Voisins des Tanneries", "neighbours@tanneries.example")], "cc": [HUGO], "bcc": [],
     "subject": "Answers to the neighbours", "text": "Dear neighbours,\n\nthank you for your questions. The ramp stays under 4 %, and the playground opens in the second phase.\n\nKind regards\nCamille",
     "in_reply_to": None, "updated_at": at(1.2), "attachments": [{"id": "plan", "name": "Plan of the park, phase 1.pdf", "type": "application/pdf", "size": 2_348_112}]},
    {"id": "draft-0000-0000-0002", "to": [], "cc": [], "bcc": [], "subject": "Congé d’automne", "text": "Bonjour Inès,\n\nje serai absente du 24 au 28", "in_reply_to": None,
     "updated_at": at(20), "attachments": []},
]


class Mail:
    """One mailbox with the API's shapes; changes stay in it."""

    def __init__(self, count: int | None = None):
        self.allowed: set[str] = set()  # messages whose remote images are wanted
        self.uploads: dict[str, tuple[str, bytes]] = {}
        self.drafts: dict[str, dict] = {} if count is not None else {draft["id"]: dict(draft) for draft in DRAFTS}
        self.threads = [dict(zip(("id", "mailbox", "subject", "unread", "starred", "messages"), row)) for row in THREADS]
        if count is not None:
            self.threads = [
                {"id": f"t{n}", "mailbox": "inbox", "subject": f"Report {n}: works in sector {n % 17}", "unread": n % 9 == 0, "starred": n % 31 == 0,
                 "messages": [message(f"x{n}", (LEA, HUGO, INES, SAM)[n % 4], n * 0.7, f"Row number {n} of {count}.")]}
                for n in range(count)
            ]

    def summary(self, thread: dict) -> dict:
        messages = thread["messages"]
        senders = list({one["from"]["email"]: one["from"] for one in messages}.values())
        last = messages[-1]
        text = last["text"] or {"p2": "Here is the new view of the park from the north entrance. The architects kept all eleven trees",
                                "n1": "Bonjour Camille, les dernières tomates mûrissent, les premières courges arrivent.",
                                "h1": "Dear customer, a parcel could not be delivered.",
                                "he1": "שלום קמיל, תודה רבה על הסיור. נשמח לקבל את התוכנית המעודכנת."}.get(last["id"], "")
        return {
            "id": thread["id"], "subject": thread["subject"], "snippet": " ".join(text.split())[:160], "senders": senders, "count": len(messages),
            "unread": thread["unread"], "starred": thread["starred"], "last_at": last["sent_at"],
            "has_attachments": any(not part["inline"] for one in messages for part in one["attachments"]),
        }

    def inside(self, mailbox: str) -> list[dict]:
        if mailbox == "sent":
            return [thread for thread in self.threads if thread["mailbox"] != "trash" and any(one["from"] == ME for one in thread["messages"])]
        if mailbox == "starred":
            return [thread for thread in self.threads if thread["starred"] and thread["mailbox"] != "trash"]
        return [thread for thread in self.threads if thread["mailbox"] == mailbox]

    def mailboxes(self) -> list[dict]:
        return [
            {"id": name, "unread": sum(thread["unread"] for thread in self.inside(name)), "total": len(self.inside(name))}
            for name in ("inbox", "starred", "sent", "archive", "trash")
        ] + [{"id": "drafts", "unread": 0, "total": len(self.drafts)}]

    def draft_rows(self, q: str) -> dict:
        rows = [
            {"id": draft["id"], "subject": draft["subject"], "snippet": " ".join(draft["text"].split())[:160], "senders": draft["to"], "count": 1, "unread": False, "starred": False,
             "has_attachments": bool(draft["attachments"]), "mailbox": "drafts", "last_at": draft["updated_at"]}
            for draft in sorted(self.drafts.values(), key=lambda one: one["updated_at"], reverse=True) if q.lower() in f"{draft['subject']} {draft['text']}".lower()
        ]
        return {"results": rows, "next": None, "total": len(rows)}

    def page(self, mailbox: str, q: str, cursor: str | None, limit: int) -> dict:
        found = [thread for thread in self.inside(mailbox) if not q or q.lower() in f"{thread['subject']} {[one['text'] for one in thread['messages']]}".lower()]
        start = int(base64.b64decode(cursor)) if cursor else 0
        end = start + limit
        return {
            "results": [self.summary(thread) for thread in found[start:end]], "total": len(found),
            "next": base64.b64encode(str(end).encode()).decode() if end < len(found) else None,
        }

    def thread(self, key: str, origin: str) -> dict | None:
        for thread in self.threads:
            if thread["id"] == key:
                messages = [dict(one, remote_images=one["id"] in self.allowed, html=one["html"] and one["html"].replace("API_ORIGIN", origin)) for one in thread["messages"]]
                return {"id": key, "subject": thread["subject"], "mailbox": thread["mailbox"], "starred": thread["starred"], "messages": messages}
        return None
